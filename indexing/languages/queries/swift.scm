; Definitions.
(class_declaration
  declaration_kind: ["class" "struct" "actor"] name: (type_identifier) @name body: (_) @body) @definition.class
(class_declaration declaration_kind: "enum" name: (type_identifier) @name body: (_) @body) @definition.enum
(protocol_declaration name: (type_identifier) @name body: (_) @body) @definition.interface
(typealias_declaration name: (type_identifier) @name) @definition.type
(function_declaration
  name: (simple_identifier) @name
  (parameter)* @parameters body: (_)? @body) @definition.function
(protocol_function_declaration name: (simple_identifier) @name (parameter)* @parameters) @definition.method
(init_declaration name: "init" @name (parameter)* @parameters body: (_)? @body) @definition.method
(class_body
  (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.field)
(protocol_body
  (protocol_property_declaration
    name: (pattern bound_identifier: (simple_identifier) @name)) @definition.field)
(source_file
  (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.variable)
(enum_entry name: (simple_identifier) @name) @definition.field

; Containers without a node. What an extension holds belongs to its type.
(lambda_literal) @scope
(class_declaration
  declaration_kind: "extension" name: (user_type . (type_identifier) @receiver)) @scope

; References. The grammar does not tell a base class from a protocol; their definitions do.
(inheritance_specifier inherits_from: (user_type) @base)
(call_expression . (simple_identifier) @call (call_suffix (value_arguments)? @arguments))
(call_expression
  . (navigation_expression
    target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @call))
  (call_suffix (value_arguments)? @arguments))
(attribute (user_type (type_identifier) @decorator))
(value_argument value: (simple_identifier) @value)
(as_expression (user_type) @type)

; Imports. All of a module's names come in with it.
(import_declaration (identifier) @import.from @import.star)

; Light types.
(parameter (simple_identifier) @bind.name . [(user_type) (optional_type)] @bind.type)
(class_body
  (property_declaration
    name: (pattern bound_identifier: (simple_identifier) @bind.field)
    (type_annotation (_) @bind.type)))
(class_body
  (property_declaration
    name: (pattern bound_identifier: (simple_identifier) @bind.field)
    value: (call_expression) @bind.value))
(property_declaration
  name: (pattern bound_identifier: (simple_identifier) @bind.name)
  (type_annotation (_) @bind.type))
(property_declaration
  name: (pattern bound_identifier: (simple_identifier) @bind.name)
  value: [(call_expression) (navigation_expression) (simple_identifier) (self_expression)] @bind.value)
(function_declaration [(user_type) (optional_type)] @return.type)
(protocol_function_declaration [(user_type) (optional_type)] @return.type)

; Names without a known type that hide names of outer scopes.
(property_declaration name: (pattern bound_identifier: (simple_identifier) @local))
(if_statement bound_identifier: (simple_identifier) @local)
(guard_statement bound_identifier: (simple_identifier) @local)
(for_statement item: (pattern bound_identifier: (simple_identifier) @local))
(lambda_parameter name: (simple_identifier) @local)

; Control flow.
[
  (if_statement) (guard_statement) (for_statement) (while_statement) (repeat_while_statement)
  (catch_block) (ternary_expression)
] @flow.branch
(if_statement (else) (if_statement) @flow.chain)
(switch_statement) @flow.switch
(switch_entry) @flow.case
(conjunction_expression) @flow.and
[(disjunction_expression) (nil_coalescing_expression)] @flow.or
