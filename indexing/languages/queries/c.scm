; What C and C++ share.

; Definitions.
(function_definition
  declarator: (function_declarator declarator: (identifier) @name parameters: (_) @parameters)
  body: (_) @body) @definition.function
(function_definition
  declarator: (pointer_declarator
    declarator: (function_declarator declarator: (identifier) @name parameters: (_) @parameters))
  body: (_) @body) @definition.function
(function_definition
  declarator: (pointer_declarator
    declarator: (pointer_declarator
      declarator: (function_declarator declarator: (identifier) @name parameters: (_) @parameters)))
  body: (_) @body) @definition.function
(struct_specifier name: (type_identifier) @name body: (_) @body) @definition.class
(union_specifier name: (type_identifier) @name body: (_) @body) @definition.class
(enum_specifier name: (type_identifier) @name body: (_) @body) @definition.enum
(enumerator name: (identifier) @name) @definition.field
(type_definition
  type: (struct_specifier body: (_) @body) declarator: (type_identifier) @name) @definition.class
(type_definition type: (enum_specifier body: (_) @body) declarator: (type_identifier) @name) @definition.enum
(type_definition declarator: (type_identifier) @name) @definition.type
(type_definition
  declarator: (function_declarator
    declarator: (parenthesized_declarator (pointer_declarator (type_identifier) @name)))) @definition.type
(field_declaration declarator: (field_identifier) @name) @definition.field
(field_declaration declarator: (pointer_declarator declarator: (field_identifier) @name)) @definition.field
(field_declaration declarator: (array_declarator declarator: (field_identifier) @name)) @definition.field
(preproc_function_def name: (identifier) @name parameters: (_) @parameters) @definition.macro
(preproc_def name: (identifier) @name value: (_)) @definition.macro
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.variable)
(translation_unit
  (declaration
    declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))
    ) @definition.variable)
(translation_unit
  (declaration
    declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))
    ) @definition.variable)
(translation_unit (declaration declarator: (identifier) @name) @definition.variable)

; References.
(call_expression function: (identifier) @call arguments: (_) @arguments)
(call_expression
  function: (field_expression argument: (_) @receiver field: (field_identifier) @call) arguments: (_) @arguments)
(argument_list (identifier) @value)
(argument_list (pointer_expression argument: (identifier) @value))
(initializer_pair value: (identifier) @value)
(initializer_list (identifier) @value)
(cast_expression type: (type_descriptor type: [(type_identifier) (struct_specifier name: (_))] @type))
(sizeof_expression type: (type_descriptor type: (type_identifier) @type))

; Imports. Including brings in all names.
(preproc_include path: (string_literal (string_content) @import.from @import.star))

; Light types.
(parameter_declaration type: (_) @bind.type declarator: (identifier) @bind.name)
(parameter_declaration
  type: (_) @bind.type declarator: (pointer_declarator declarator: (identifier) @bind.name))
(declaration type: [(type_identifier) (struct_specifier !body)] @bind.type declarator: (identifier) @bind.name)
(declaration
  type: [(type_identifier) (struct_specifier !body)] @bind.type
  declarator: (pointer_declarator declarator: (identifier) @bind.name))
(declaration
  type: [(type_identifier) (struct_specifier !body)] @bind.type
  declarator: (init_declarator
    declarator: [(identifier) @bind.name (pointer_declarator declarator: (identifier) @bind.name)]))
(field_declaration type: (_) @bind.type declarator: (field_identifier) @bind.field)
(field_declaration
  type: (_) @bind.type declarator: (pointer_declarator declarator: (field_identifier) @bind.field))
(function_definition
  type: [(type_identifier) (struct_specifier !body)] @return.type)

; Names without a known type that hide names of outer scopes.
(declaration declarator: (init_declarator declarator: (identifier) @local))
(compound_statement (declaration declarator: (identifier) @local))

; Control flow.
[
  (if_statement) (for_statement) (while_statement) (do_statement) (conditional_expression)
] @flow.branch
(else_clause (if_statement) @flow.chain)
(else_clause) @flow.else
(switch_statement) @flow.switch
(case_statement) @flow.case
(binary_expression operator: "&&") @flow.and
(binary_expression operator: "||") @flow.or
(goto_statement) @flow.jump
