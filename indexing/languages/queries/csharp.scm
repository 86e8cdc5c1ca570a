(namespace_declaration name: (_) @package)
(file_scoped_namespace_declaration name: (_) @package)

; Definitions.
(class_declaration name: (identifier) @name body: (_) @body) @definition.class
(struct_declaration name: (identifier) @name body: (_) @body) @definition.class
(record_declaration name: (identifier) @name body: (_)? @body) @definition.class
(interface_declaration name: (identifier) @name body: (_) @body) @definition.interface
(enum_declaration name: (identifier) @name body: (_) @body) @definition.enum
(enum_member_declaration name: (identifier) @name) @definition.field
(delegate_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name parameters: (_) @parameters body: (_)? @body) @definition.method
(constructor_declaration
  name: (identifier) @name parameters: (_) @parameters body: (_)? @body) @definition.method
(local_function_statement
  name: (identifier) @name parameters: (_) @parameters body: (_) @body) @definition.function
(property_declaration name: (identifier) @name) @definition.field
(property_declaration
  name: (identifier) @name accessors: (accessor_list (accessor_declaration body: (_))) @body @container
  ) @definition.field
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field

; Containers without a node.
[(lambda_expression) (anonymous_method_expression)] @scope

; References. The grammar does not tell a base class from an interface; their definitions do.
(base_list [(identifier) (generic_name) (qualified_name)] @base)
(base_list (primary_constructor_base_type type: (_) @base))
(invocation_expression function: (identifier) @call arguments: (_) @arguments)
(invocation_expression function: (generic_name (identifier) @call) arguments: (_) @arguments)
(invocation_expression
  function: (member_access_expression
    expression: (_) @receiver name: [(identifier) @call (generic_name (identifier) @call)])
  arguments: (_) @arguments)
(invocation_expression
  function: (conditional_access_expression
    condition: (_) @receiver
    (member_binding_expression name: [(identifier) @call (generic_name (identifier) @call)]))
  arguments: (_) @arguments)
(object_creation_expression
  type: [(identifier) @call (generic_name (identifier) @call)] arguments: (_)? @arguments)
(object_creation_expression
  type: (qualified_name qualifier: (_) @receiver name: (identifier) @call) arguments: (_)? @arguments)
(attribute name: (identifier) @decorator (attribute_argument_list)? @arguments)
(attribute name: (qualified_name name: (identifier) @decorator) (attribute_argument_list)? @arguments)
(argument (identifier) @value)
(argument (member_access_expression expression: (_) @receiver name: (identifier) @value))
(cast_expression type: (identifier) @type)
(typeof_expression type: (_) @type)
(is_pattern_expression pattern: (constant_pattern (identifier) @type))

; Imports. A using directive brings in all names of a namespace, or one name under an alias.
(using_directive !name [(identifier) (qualified_name)] @import.from @import.star)
(using_directive name: (identifier) @import.alias (qualified_name) @import.tree)

; Light types.
(parameter type: (_) @bind.type name: (identifier) @bind.name)
(field_declaration
  (variable_declaration type: (_) @bind.type (variable_declarator name: (identifier) @bind.field)))
(property_declaration type: (_) @bind.type name: (identifier) @bind.field)
(local_declaration_statement
  (variable_declaration
    type: [(identifier) (generic_name) (qualified_name) (nullable_type) (array_type)] @bind.type
    (variable_declarator name: (identifier) @bind.name)))
(local_declaration_statement
  (variable_declaration
    type: (implicit_type)
    (variable_declarator
      name: (identifier) @bind.name
      [
        (invocation_expression) (object_creation_expression) (identifier) (await_expression)
        (member_access_expression)
      ] @bind.value .)))
(foreach_statement
  type: [(identifier) (generic_name) (qualified_name)] @bind.type left: (identifier) @bind.name)
(declaration_pattern type: (_) @bind.type name: (identifier) @bind.name)
(catch_declaration type: (_) @bind.type name: (identifier) @bind.name)
(method_declaration returns: (_) @return.type)
(local_function_statement type: (_) @return.type)

; Names without a known type that hide names of outer scopes.
(local_declaration_statement (variable_declaration (variable_declarator name: (identifier) @local)))
(lambda_expression parameters: (implicit_parameter) @local)
(foreach_statement left: (identifier) @local)
(declaration_expression name: (identifier) @local)

; Control flow.
[
  (if_statement) (for_statement) (foreach_statement) (while_statement) (do_statement)
  (catch_clause) (conditional_expression)
] @flow.branch
(if_statement alternative: (if_statement) @flow.chain)
(if_statement alternative: (block) @flow.else)
[(switch_statement) (switch_expression)] @flow.switch
[(switch_section) (switch_expression_arm)] @flow.case
(binary_expression operator: "&&") @flow.and
(binary_expression operator: ["||" "??"]) @flow.or
(goto_statement) @flow.jump
