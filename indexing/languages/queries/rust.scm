; Definitions.
(function_item name: (identifier) @name parameters: (_) @parameters body: (_) @body) @definition.function
(function_signature_item name: (identifier) @name parameters: (_) @parameters) @definition.function
(struct_item name: (type_identifier) @name body: (_)? @body) @definition.class
(union_item name: (type_identifier) @name body: (_) @body) @definition.class
(enum_item name: (type_identifier) @name body: (_) @body) @definition.enum
(enum_variant name: (identifier) @name) @definition.field
(trait_item name: (type_identifier) @name body: (_) @body) @definition.interface
(type_item name: (type_identifier) @name) @definition.type
(associated_type name: (type_identifier) @name) @definition.field
(mod_item name: (identifier) @name body: (_) @body) @definition.module
(macro_definition name: (identifier) @name) @definition.macro
(source_file [(const_item name: (identifier) @name) (static_item name: (identifier) @name)] @definition.variable)
(declaration_list
  [(const_item name: (identifier) @name) (static_item name: (identifier) @name)] @definition.variable)
(field_declaration name: (field_identifier) @name) @definition.field
[(attribute_item) (inner_attribute_item)] @attribute

; Containers without a node. What an impl holds belongs to its type.
(closure_expression) @scope
(impl_item
  type: [
    (type_identifier) @receiver
    (generic_type type: (type_identifier) @receiver)
    (scoped_type_identifier name: (type_identifier) @receiver)
    (reference_type type: (type_identifier) @receiver)
  ]) @scope

; References.
(impl_item trait: [
  (type_identifier) @base
  (scoped_type_identifier) @base
  (generic_type type: (_) @base)
])
(trait_item bounds: (trait_bounds [
  (type_identifier) @base
  (scoped_type_identifier) @base
  (generic_type type: (_) @base)
]))
(call_expression function: (identifier) @call arguments: (_) @arguments)
(call_expression function: (field_expression value: (_) @receiver field: (field_identifier) @call)
  arguments: (_) @arguments)
(call_expression function: (scoped_identifier path: (_) @receiver name: (identifier) @call)
  arguments: (_) @arguments)
(call_expression function: (generic_function function: (identifier) @call) arguments: (_) @arguments)
(call_expression
  function: (generic_function
    function: [
      (field_expression value: (_) @receiver field: (field_identifier) @call)
      (scoped_identifier path: (_) @receiver name: (identifier) @call)
    ])
  arguments: (_) @arguments)
(macro_invocation macro: (identifier) @call)
(macro_invocation macro: (scoped_identifier path: (_) @receiver name: (identifier) @call))
; A macro's tokens are not parsed; what looks like a call in them nearly always is one.
(token_tree (identifier) @call . (token_tree) @arguments (#not-match? @call "^[A-Z_0-9]+$"))
(struct_expression name: (type_identifier) @call)
(struct_expression name: (scoped_type_identifier path: (_) @receiver name: (type_identifier) @call))
(attribute_item (attribute (identifier) @decorator arguments: (_)? @arguments))
(attribute_item
  (attribute
    (scoped_identifier path: (_) @receiver name: (identifier) @decorator) arguments: (_)? @arguments))
(attribute_item
  (attribute (identifier) @_cfg arguments: (token_tree . (identifier) @decorator . ))
  (#eq? @_cfg "cfg"))
(arguments (identifier) @value)
(arguments (scoped_identifier path: (_) @receiver name: (identifier) @value))
(let_declaration value: (identifier) @value)

; Imports.
(use_declaration argument: (_) @import.tree)
(mod_item name: (identifier) @import.module !body)

; Light types.
(parameter pattern: (identifier) @bind.name type: (_) @bind.type)
(parameter pattern: (mut_pattern (identifier) @bind.name) type: (_) @bind.type)
(let_declaration pattern: (identifier) @bind.name type: (_) @bind.type)
(let_declaration
  pattern: (identifier) @bind.name
  !type
  value: [
    (call_expression) (field_expression) (identifier) (scoped_identifier) (await_expression)
    (try_expression) (reference_expression) (index_expression)
  ] @bind.value)
(let_declaration pattern: (identifier) @bind.name !type value: (struct_expression name: (_) @bind.type))
(let_condition
  pattern: (tuple_struct_pattern type: (_) (identifier) @bind.name . )
  value: (_) @bind.value)
(field_declaration name: (field_identifier) @bind.field type: (_) @bind.type)
(const_item name: (identifier) @bind.name type: (_) @bind.type)
(static_item name: (identifier) @bind.name type: (_) @bind.type)
(type_parameter name: (type_identifier) @bind.name bounds: (trait_bounds . (_) @bind.type))
(where_predicate left: (type_identifier) @bind.name bounds: (trait_bounds . (_) @bind.type))
(function_item return_type: (_) @return.type)
(function_signature_item return_type: (_) @return.type)

; Names without a known type that hide names of outer scopes.
(let_declaration pattern: (identifier) @local)
(tuple_pattern (identifier) @local)
(tuple_struct_pattern type: (_) (identifier) @local)
(field_pattern name: (shorthand_field_identifier) @local)
(for_expression pattern: (identifier) @local)
(closure_parameters (identifier) @local)
(captured_pattern . (identifier) @local)

; Control flow.
[(if_expression) (for_expression) (while_expression)] @flow.branch
(loop_expression) @flow.switch
(else_clause (if_expression) @flow.chain)
(else_clause) @flow.else
(match_expression) @flow.switch
(match_arm) @flow.case
(binary_expression operator: "&&") @flow.and
(binary_expression operator: "||") @flow.or
(break_expression (label)) @flow.jump
(continue_expression (label)) @flow.jump
