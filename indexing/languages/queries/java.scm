(package_declaration [(identifier) (scoped_identifier)] @package)

; Definitions.
(class_declaration name: (identifier) @name body: (_) @body) @definition.class
(record_declaration name: (identifier) @name parameters: (_) @parameters body: (_) @body) @definition.class
(interface_declaration name: (identifier) @name body: (_) @body) @definition.interface
(annotation_type_declaration name: (identifier) @name body: (_) @body) @definition.interface
(enum_declaration name: (identifier) @name body: (_) @body) @definition.enum
(enum_constant name: (identifier) @name) @definition.field
(method_declaration name: (identifier) @name parameters: (_) @parameters body: (_)? @body) @definition.method
(constructor_declaration
  name: (identifier) @name parameters: (_) @parameters body: (_) @body) @definition.method
(annotation_type_element_declaration name: (identifier) @name) @definition.method
(class_body
  (field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field)
(interface_body
  (constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field)

; Containers without a node.
(lambda_expression) @scope
(object_creation_expression (class_body) @scope)

; References.
(superclass (_) @base)
(extends_interfaces (type_list (_) @base))
(super_interfaces (type_list (_) @base))
(method_invocation !object name: (identifier) @call arguments: (_) @arguments)
(method_invocation object: (_) @receiver name: (identifier) @call arguments: (_) @arguments)
(object_creation_expression type: (type_identifier) @call arguments: (_) @arguments)
(object_creation_expression type: (generic_type . (type_identifier) @call) arguments: (_) @arguments)
(object_creation_expression
  type: (scoped_type_identifier (_) @receiver (type_identifier) @call .) arguments: (_) @arguments)
(method_reference . (_) @receiver (identifier) @value .)
(marker_annotation name: (identifier) @decorator)
(annotation name: (identifier) @decorator arguments: (_) @arguments)
(argument_list (identifier) @value)
(cast_expression type: (type_identifier) @type)
(instanceof_expression right: (type_identifier) @type)
(class_literal (type_identifier) @type)

; Imports.
(import_declaration) @import.tree

; Light types.
(formal_parameter type: (_) @bind.type name: (identifier) @bind.name)
(catch_formal_parameter (catch_type . (_) @bind.type) name: (identifier) @bind.name)
(field_declaration
  type: (_) @bind.type declarator: (variable_declarator name: (identifier) @bind.field))
(local_variable_declaration
  type: [(type_identifier) (generic_type) (scoped_type_identifier) (array_type)] @bind.type
  declarator: (variable_declarator name: (identifier) @bind.name)
  (#not-eq? @bind.type "var"))
(local_variable_declaration
  type: (type_identifier) @_var
  declarator: (variable_declarator
    name: (identifier) @bind.name
    value: [
      (method_invocation) (object_creation_expression) (identifier) (field_access) (this)
    ] @bind.value)
  (#eq? @_var "var"))
(enhanced_for_statement type: (_) @bind.type name: (identifier) @bind.name (#not-eq? @bind.type "var"))
(resource type: (_) @bind.type name: (identifier) @bind.name)
(instanceof_expression right: (_) @bind.type name: (identifier) @bind.name)
(type_pattern (_) @bind.type (identifier) @bind.name)
(method_declaration type: (_) @return.type)
(type_parameter (type_identifier) @bind.name (type_bound . (_) @bind.type))

; Names without a known type that hide names of outer scopes.
(local_variable_declaration declarator: (variable_declarator name: (identifier) @local))
(inferred_parameters (identifier) @local)
(lambda_expression parameters: (identifier) @local)
(enhanced_for_statement name: (identifier) @local)

; Control flow.
[
  (if_statement) (for_statement) (enhanced_for_statement) (while_statement) (do_statement)
  (catch_clause) (ternary_expression)
] @flow.branch
(if_statement alternative: (if_statement) @flow.chain)
(if_statement alternative: (block) @flow.else)
(switch_expression) @flow.switch
[(switch_block_statement_group) (switch_rule)] @flow.case
(binary_expression operator: "&&") @flow.and
(binary_expression operator: "||") @flow.or
(break_statement (identifier)) @flow.jump
(continue_statement (identifier)) @flow.jump
