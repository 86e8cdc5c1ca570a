; What JavaScript and TypeScript share.

; Definitions.
(function_declaration
  name: (identifier) @name parameters: (_) @parameters body: (_) @body) @definition.function
(generator_function_declaration
  name: (identifier) @name parameters: (_) @parameters body: (_) @body) @definition.function
(method_definition
  name: [(property_identifier) (private_property_identifier)] @name
  parameters: (_) @parameters
  body: (_) @body) @definition.method
(variable_declarator
  name: (identifier) @name
  value: [
    (arrow_function parameters: (_)? @parameters body: (_) @body)
    (function_expression parameters: (_) @parameters body: (_) @body)
    (generator_function parameters: (_) @parameters body: (_) @body)
  ]) @definition.function
(variable_declarator name: (identifier) @name value: (class body: (_) @body)) @definition.class
(program
  [(lexical_declaration (variable_declarator name: (identifier) @name))
   (variable_declaration (variable_declarator name: (identifier) @name))] @definition.variable)
(program
  (export_statement
    [(lexical_declaration (variable_declarator name: (identifier) @name))
     (variable_declaration (variable_declarator name: (identifier) @name))]) @definition.variable)
; A module-level object, or what a call makes of one, holds its functions: `store.save`.
(program
  [
    (lexical_declaration (variable_declarator
      name: (identifier) @name
      value: [(object) @body @container
              (call_expression arguments: (arguments (object) @container))]))
    (export_statement (lexical_declaration (variable_declarator
      name: (identifier) @name
      value: [(object) @body @container
              (call_expression arguments: (arguments (object) @container))])))
  ] @definition.variable)
(assignment_expression
  left: (member_expression object: (_) @receiver property: (property_identifier) @name)
  right: [
    (arrow_function parameters: (_)? @parameters body: (_) @body)
    (function_expression parameters: (_) @parameters body: (_) @body)
    (generator_function parameters: (_) @parameters body: (_) @body)
  ]) @definition.method
(assignment_expression
  left: (identifier) @name
  right: [
    (arrow_function parameters: (_)? @parameters body: (_) @body)
    (function_expression parameters: (_) @parameters body: (_) @body)
  ]
  ) @definition.function
(pair
  key: (property_identifier) @name
  value: [
    (arrow_function parameters: (_)? @parameters body: (_) @body)
    (function_expression parameters: (_) @parameters body: (_) @body)
  ]
  ) @definition.method
(export_statement
  "default" @name
  value: [
    (arrow_function parameters: (_)? @parameters body: (_) @body)
    (function_expression parameters: (_) @parameters body: (_) @body)
  ]) @definition.function
(export_statement "default" @name value: (class body: (_) @body)) @definition.class
(export_statement "default" @name value: (object) @container @body) @definition.variable

; Containers without a node: their names are local to them.
[(arrow_function) (function_expression) (generator_function)] @scope

; References.
(call_expression function: (identifier) @call arguments: (_) @arguments)
(call_expression
  function: (member_expression
    object: (_) @receiver property: [(property_identifier) (private_property_identifier)] @call)
  arguments: (_) @arguments)
(new_expression constructor: (identifier) @call arguments: (_)? @arguments)
(new_expression
  constructor: (member_expression object: (_) @receiver property: (property_identifier) @call)
  arguments: (_)? @arguments)
(decorator (identifier) @decorator)
(decorator (call_expression function: (identifier) @decorator arguments: (_) @arguments))
(decorator
  (call_expression
    function: (member_expression object: (_) @receiver property: (property_identifier) @decorator)
    arguments: (_) @arguments))
(decorator) @attribute
(arguments (identifier) @value)
(arguments (member_expression object: (_) @receiver property: (property_identifier) @value))
(pair value: (identifier) @value)
(pair value: (member_expression object: (_) @receiver property: (property_identifier) @value))
(object (shorthand_property_identifier) @value)
(array (identifier) @value)
(return_statement (identifier) @value)
(variable_declarator value: (identifier) @value)
(assignment_expression right: (identifier) @value)
(binary_expression operator: "instanceof" right: (identifier) @value)

; Imports and exports.
(import_statement
  (import_clause
    [(identifier) @import.default (namespace_import (identifier) @import.namespace)])
  source: (string (string_fragment) @import.from))
(import_statement
  (import_clause
    (named_imports
      (import_specifier name: (identifier) @import.name alias: (identifier)? @import.alias)))
  source: (string (string_fragment) @import.from))
(import_statement . source: (string (string_fragment) @import.module))
(export_statement
  (export_clause
    (export_specifier name: (_) @reexport.name alias: (_)? @import.alias))
  source: (string (string_fragment) @import.from))
(export_statement
  (namespace_export (identifier) @reexport.namespace)
  source: (string (string_fragment) @import.from))
(export_statement "*" source: (string (string_fragment) @reexport.star))
(variable_declarator
  name: (identifier) @import.namespace
  value: (call_expression
    function: (identifier) @_require
    arguments: (arguments . (string (string_fragment) @import.from)))
  (#eq? @_require "require"))
(variable_declarator
  name: (object_pattern
    [
      (shorthand_property_identifier_pattern) @import.name
      (pair_pattern key: (property_identifier) @import.name value: (identifier) @import.alias)
    ])
  value: (call_expression
    function: (identifier) @_require
    arguments: (arguments . (string (string_fragment) @import.from)))
  (#eq? @_require "require"))
(variable_declarator
  name: (identifier) @import.alias
  value: (member_expression
    object: (call_expression
      function: (identifier) @_require
      arguments: (arguments . (string (string_fragment) @import.from)))
    property: (property_identifier) @import.name)
  (#eq? @_require "require"))
(export_statement
  !source
  (export_clause
    (export_specifier name: (identifier) @export.local alias: (_)? @export.name)))
(export_statement
  "default"
  declaration: (_ name: (_) @export.local))
(export_statement "default" value: (identifier) @export.local)
(export_statement
  declaration: [
    (lexical_declaration (variable_declarator name: (identifier) @export.name))
    (variable_declaration (variable_declarator name: (identifier) @export.name))
    (_ name: (_) @export.name)
  ])
(assignment_expression
  left: (member_expression object: (identifier) @_module property: (property_identifier) @_exports)
  right: (identifier) @export.local
  (#eq? @_module "module")
  (#eq? @_exports "exports"))
(assignment_expression
  left: (member_expression object: (identifier) @_module property: (property_identifier) @_exports)
  right: (object
    [
      (shorthand_property_identifier) @export.name
      (pair key: (property_identifier) @export.name value: (identifier) @export.local)
    ])
  (#eq? @_module "module")
  (#eq? @_exports "exports"))
(assignment_expression
  left: (member_expression object: (identifier) @_exports property: (property_identifier) @export.name)
  right: (identifier) @export.local
  (#eq? @_exports "exports"))

; Light types: what a name, an attribute or a call may hold.
(variable_declarator name: (identifier) @bind.name value: (new_expression constructor: (_) @bind.call))
(variable_declarator name: (identifier) @bind.name value: (call_expression function: (_) @bind.call))
(variable_declarator
  name: (identifier) @bind.name
  value: (await_expression (call_expression function: (_) @bind.call)))
(variable_declarator
  name: (identifier) @bind.name
  value: [
    (identifier) (member_expression) (subscript_expression) (this) (binary_expression)
    (ternary_expression)
  ] @bind.value)
(variable_declarator
  name: (identifier) @bind.name
  value: (await_expression [(identifier) (member_expression)] @bind.value))
(variable_declarator
  name: (object_pattern) @bind.pattern
  value: [
    (identifier) (member_expression) (call_expression) (new_expression) (await_expression) (this)
    (subscript_expression) (binary_expression) (ternary_expression)
  ] @bind.value)
(for_in_statement left: (identifier) @bind.name operator: "of" right: (_) @bind.element)
(program
  [(lexical_declaration (variable_declarator value: (object (pair
     key: (property_identifier) @bind.field
     value: [(identifier) @bind.value
             (member_expression) @bind.value
             (new_expression constructor: (_) @bind.call)
             (call_expression function: (_) @bind.call)]))))
   (export_statement (lexical_declaration (variable_declarator value: (object (pair
     key: (property_identifier) @bind.field
     value: [(identifier) @bind.value
             (member_expression) @bind.value
             (new_expression constructor: (_) @bind.call)
             (call_expression function: (_) @bind.call)])))))])
(assignment_expression
  left: (member_expression object: (this) @bind.object property: (_) @bind.attribute)
  right: [
    (new_expression constructor: (_) @bind.call)
    (call_expression function: (_) @bind.call)
    (identifier) @bind.value
    (member_expression) @bind.value
  ])
(return_statement [(new_expression constructor: (_) @return.call)
                   (call_expression function: (_) @return.call)])
(return_statement
  [(identifier) (this) (member_expression) (binary_expression) (ternary_expression)] @return.value)
(return_statement (object) @return.object)
(return_statement (await_expression (call_expression function: (_) @return.call)))
(variable_declarator value: (arrow_function
  body: [(new_expression constructor: (_) @return.call)
         (call_expression function: (_) @return.call)
         (identifier) @return.value
         (member_expression) @return.value]))
(variable_declarator value: (arrow_function
  body: (parenthesized_expression (object) @return.object)))

; What a place expects of a function says what the function's parameters are.
(arrow_function parameters: (formal_parameters . (_))) @context
(arrow_function parameter: (identifier)) @context
(function_expression parameters: (formal_parameters . (_))) @context
(object (method_definition parameters: (formal_parameters . (_))) @context)

; Names without a known type that hide names of outer scopes.
(variable_declarator name: (identifier) @local)
(object_pattern
  [
    (shorthand_property_identifier_pattern) @local
    (pair_pattern value: (identifier) @local)
    (object_assignment_pattern left: (shorthand_property_identifier_pattern) @local)
  ])
(array_pattern (identifier) @local)
(rest_pattern (identifier) @local)
(arrow_function parameter: (identifier) @local)
(for_in_statement left: (identifier) @local)
(catch_clause parameter: (identifier) @local)

; Control flow.
[
  (if_statement)
  (for_statement)
  (for_in_statement)
  (while_statement)
  (do_statement)
  (catch_clause)
  (ternary_expression)
] @flow.branch
(else_clause (if_statement) @flow.chain)
(else_clause) @flow.else
(switch_statement) @flow.switch
(switch_case) @flow.case
(binary_expression operator: "&&") @flow.and
(binary_expression operator: ["||" "??"]) @flow.or
(break_statement label: (_)) @flow.jump
(continue_statement label: (_)) @flow.jump
