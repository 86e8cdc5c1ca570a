(package_clause (package_identifier) @package)

; Definitions.
(function_declaration
  name: (identifier) @name parameters: (_) @parameters body: (block)? @body) @definition.function
(method_declaration
  receiver: (parameter_list
    (parameter_declaration
      type: [
        (type_identifier) @receiver
        (pointer_type (type_identifier) @receiver)
        (generic_type type: (type_identifier) @receiver)
        (pointer_type (generic_type type: (type_identifier) @receiver))
      ]))
  name: (field_identifier) @name
  parameters: (_) @parameters
  body: (block)? @body) @definition.method
(type_spec
  name: (type_identifier) @name
  type: (struct_type (field_declaration_list) @body)) @definition.class
(type_spec name: (type_identifier) @name type: (interface_type) @body) @definition.interface
(type_spec name: (type_identifier) @name type: (_)) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
(method_elem name: (field_identifier) @name parameters: (_) @parameters) @definition.method
(field_declaration name: (field_identifier) @name) @definition.field
(source_file (const_declaration (const_spec name: (identifier) @name) @definition.variable))
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.variable))
(source_file
  (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition.variable)))

; Containers without a node: their names are local to them.
(func_literal) @scope

; References. Embedding a struct or an interface is Go's inheritance: its members are promoted.
(field_declaration
  !name
  type: [
    (type_identifier) @base
    (qualified_type) @base
    (generic_type type: (_) @base)
    (pointer_type [(type_identifier) (qualified_type)] @base)
  ])
(interface_type (type_elem . [(type_identifier) (qualified_type)] @base .))
(call_expression function: (identifier) @call arguments: (_) @arguments)
(call_expression
  function: (selector_expression operand: (_) @receiver field: (field_identifier) @call)
  arguments: (_) @arguments)
(call_expression
  function: (type_instantiation_expression type: (type_identifier) @call))
(composite_literal type: (type_identifier) @call)
(composite_literal type: (generic_type type: (type_identifier) @call))
(composite_literal
  type: (qualified_type package: (package_identifier) @receiver name: (type_identifier) @call))
(argument_list (identifier) @value)
(argument_list
  (selector_expression operand: (_) @receiver field: (field_identifier) @value))
(keyed_element value: (literal_element (identifier) @value))
(keyed_element
  value: (literal_element
    (selector_expression operand: (_) @receiver field: (field_identifier) @value)))
(literal_value (literal_element (identifier) @value))
(return_statement (expression_list (identifier) @value))
(assignment_statement right: (expression_list (identifier) @value))
(short_var_declaration right: (expression_list (identifier) @value))
(type_conversion_expression type: (_) @type)
(type_assertion_expression type: (_) @type)

; Imports.
(import_spec
  name: (_)? @import.alias
  path: (interpreted_string_literal (interpreted_string_literal_content) @import.module))

; Light types.
(short_var_declaration
  left: (expression_list . (identifier) @bind.name)
  right: (expression_list . (call_expression function: (_) @bind.call)))
(short_var_declaration
  left: (expression_list . (identifier) @bind.name)
  right: (expression_list
    . [
      (composite_literal type: (_) @bind.type)
      (unary_expression operand: (composite_literal type: (_) @bind.type))
      (type_assertion_expression type: (_) @bind.type)
    ]))
(short_var_declaration
  left: (expression_list . (identifier) @bind.name)
  right: (expression_list . [(identifier) (selector_expression)] @bind.value))
(parameter_declaration name: (identifier) @bind.name type: (_) @bind.type)
(type_parameter_declaration
  name: (identifier) @bind.name type: (type_constraint (type_identifier) @bind.type))
(var_spec name: (identifier) @bind.name type: (_) @bind.type)
(var_spec
  name: (identifier) @bind.name
  !type
  value: (expression_list . (call_expression function: (_) @bind.call)))
(var_spec
  name: (identifier) @bind.name
  !type
  value: (expression_list
    . [
      (composite_literal type: (_) @bind.type)
      (unary_expression operand: (composite_literal type: (_) @bind.type))
    ]))
(field_declaration name: (field_identifier) @bind.field type: (_) @bind.type)
(function_declaration
  result: [
    (type_identifier) (pointer_type) (qualified_type) (generic_type)
  ] @return.type)
(method_declaration
  result: [
    (type_identifier) (pointer_type) (qualified_type) (generic_type)
  ] @return.type)
(method_elem
  result: [
    (type_identifier) (pointer_type) (qualified_type) (generic_type)
  ] @return.type)
(function_declaration
  result: (parameter_list . (parameter_declaration type: (_) @return.type)))
(method_declaration
  result: (parameter_list . (parameter_declaration type: (_) @return.type)))
(method_elem
  result: (parameter_list . (parameter_declaration type: (_) @return.type)))

; Names without a known type that hide names of outer scopes.
(short_var_declaration left: (expression_list (identifier) @local))
(range_clause left: (expression_list (identifier) @local))
(var_spec name: (identifier) @local)
(variadic_parameter_declaration name: (identifier) @local)

; Control flow.
[(if_statement) (for_statement)] @flow.branch
(if_statement alternative: (if_statement) @flow.chain)
(if_statement alternative: (block) @flow.else)
[(expression_switch_statement) (type_switch_statement) (select_statement)] @flow.switch
[(expression_case) (type_case) (communication_case)] @flow.case
(binary_expression operator: "&&") @flow.and
(binary_expression operator: "||") @flow.or
(goto_statement) @flow.jump
(break_statement (label_name)) @flow.jump
(continue_statement (label_name)) @flow.jump
