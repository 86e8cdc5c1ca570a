"""What calls, decorators and annotations mean in libraries that carry traffic (rules.yaml).

Below both that ask it: extraction, which keeps the arguments of such calls and no others, and
`indexing.crossing`, which reads them.
"""
