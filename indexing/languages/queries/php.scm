(namespace_definition name: (_) @package)

; Definitions.
(class_declaration name: (name) @name body: (_) @body) @definition.class
(interface_declaration name: (name) @name body: (_) @body) @definition.interface
(trait_declaration name: (name) @name body: (_) @body) @definition.class
(enum_declaration name: (name) @name body: (_) @body) @definition.enum
(enum_case name: (name) @name) @definition.field
(function_definition name: (name) @name parameters: (_) @parameters body: (_) @body) @definition.function
(method_declaration name: (name) @name parameters: (_) @parameters body: (_)? @body) @definition.method
(property_declaration (property_element name: (variable_name (name) @name))) @definition.field
(property_promotion_parameter name: (variable_name (name) @name)) @definition.field
(declaration_list (const_declaration (const_element . (name) @name)) @definition.field)
(program (const_declaration (const_element . (name) @name)) @definition.variable)

; Containers without a node.
[(anonymous_function) (arrow_function)] @scope

; References. A used trait gives its members as a base does.
(base_clause [(name) (qualified_name)] @base)
(class_interface_clause [(name) (qualified_name)] @implements)
(use_declaration [(name) (qualified_name)] @base)
(function_call_expression function: (name) @call arguments: (_) @arguments)
(function_call_expression
  function: (qualified_name prefix: (_) @receiver (name) @call .) arguments: (_) @arguments)
(member_call_expression object: (_) @receiver name: (name) @call arguments: (_) @arguments)
(nullsafe_member_call_expression object: (_) @receiver name: (name) @call arguments: (_) @arguments)
(scoped_call_expression scope: (_) @receiver name: (name) @call arguments: (_) @arguments)
(object_creation_expression (name) @call (arguments)? @arguments)
(object_creation_expression (qualified_name) @type (arguments)?)
(attribute [(name) @decorator (qualified_name (name) @decorator .)] parameters: (_)? @arguments)
(class_constant_access_expression . (name) @type)

; Imports.
(namespace_use_declaration) @import.tree

; Light types.
(simple_parameter type: (_) @bind.type name: (variable_name) @bind.name)
(property_promotion_parameter type: (_) @bind.type name: (variable_name) @bind.name)
(property_promotion_parameter type: (_) @bind.type name: (variable_name (name) @bind.field))
(property_declaration
  type: (_) @bind.type (property_element name: (variable_name (name) @bind.field)))
(assignment_expression
  left: (variable_name) @bind.name
  right: [
    (object_creation_expression) (member_call_expression) (scoped_call_expression) (variable_name)
    (function_call_expression) (member_access_expression)
  ] @bind.value)
(assignment_expression
  left: (member_access_expression object: (variable_name) @bind.object name: (name) @bind.attribute)
  right: [
    (object_creation_expression) (member_call_expression) (scoped_call_expression) (variable_name)
  ] @bind.value)
(function_definition return_type: (_) @return.type)
(method_declaration return_type: (_) @return.type)

; Names without a known type that hide names of outer scopes.
(simple_parameter !type name: (variable_name) @local)
(assignment_expression left: (variable_name) @local)
(foreach_statement (variable_name) @local)

; Control flow.
[
  (if_statement) (for_statement) (foreach_statement) (while_statement) (do_statement)
  (catch_clause) (conditional_expression)
] @flow.branch
(else_if_clause) @flow.chain
(else_clause) @flow.else
(else_clause (if_statement) @flow.chain)
[(switch_statement) (match_expression)] @flow.switch
[(case_statement) (match_conditional_expression)] @flow.case
(binary_expression operator: ["&&" "and"]) @flow.and
(binary_expression operator: ["||" "or" "??"]) @flow.or
(goto_statement) @flow.jump
