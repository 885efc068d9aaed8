"""What a file is called by its name: one table of suffixes, one of whole names, one of languages."""

from __future__ import annotations

from pathlib import PurePosixPath

_SUFFIXES_BY_TYPE: dict[str, str] = {
    "markdown": ".md .mdx .markdown .mkd .qmd .rmd",
    "python": ".py .pyi .pyw",
    "typescript": ".ts .tsx .mts .cts",
    "javascript": ".js .jsx .mjs .cjs",
    "java": ".java",
    "kotlin": ".kt .kts",
    "scala": ".scala .sc",
    "groovy": ".groovy .gradle",
    "go": ".go",
    "rust": ".rs",
    "yaml": ".yaml .yml",
    "json": ".json .jsonl .ndjson .geojson .json5 .jsonc .canvas .ipynb",
    "toml": ".toml",
    "shell": ".sh .bash .zsh .fish .ksh",
    "text": ".txt .text .log",
    "rst": ".rst",
    "html": ".html .htm .xhtml",
    "xml": ".xml .xsd .xsl .xslt .svg .rss .atom .plist .opml",
    "sql": ".sql .ddl",
    "terraform": ".tf .hcl .tfvars",
    "csv": ".csv",
    "tsv": ".tsv .tab",
    "ini": ".ini .cfg .conf .properties .editorconfig .desktop",
    "css": ".css .scss .sass .less",
    "c": ".c .h",
    "cpp": ".cpp .cc .cxx .c++ .hpp .hh .hxx .inl .cu .ino",
    "csharp": ".cs .csx",
    "ruby": ".rb .rake .gemspec",
    "php": ".php .phtml",
    "swift": ".swift",
    "lua": ".lua",
    "r": ".r",
    "perl": ".pl .pm",
    "haskell": ".hs .lhs",
    "elixir": ".ex .exs",
    "erlang": ".erl .hrl",
    "clojure": ".clj .cljs .cljc .edn",
    "dart": ".dart",
    "julia": ".jl",
    "zig": ".zig",
    "nim": ".nim",
    "ocaml": ".ml .mli",
    "fsharp": ".fs .fsx",
    "lisp": ".lisp .el .scm .rkt",
    "vue": ".vue",
    "svelte": ".svelte",
    "powershell": ".ps1 .psm1 .psd1",
    "batch": ".bat .cmd",
    "visualbasic": ".vb .bas .vbs",
    "cobol": ".cob .cbl",
    "solidity": ".sol",
    "protobuf": ".proto",
    "graphql": ".graphql .gql",
    "latex": ".tex .sty .cls .ltx",
    "bibtex": ".bib",
    "org": ".org",
    "asciidoc": ".adoc .asciidoc",
    "diff": ".diff .patch",
    "makefile": ".mk",
    "dockerfile": ".dockerfile",
    "cmake": ".cmake",
    "nix": ".nix",
    "calendar": ".ics .vcs",
    "contacts": ".vcf",
    "subtitles": ".srt .vtt",
}

TYPE_BY_SUFFIX: dict[str, str] = {
    suffix: name for name, suffixes in _SUFFIXES_BY_TYPE.items() for suffix in suffixes.split()
}
"""Lower-case suffix → file type; the seed's FILE_TYPE_MAP and more."""

TYPE_BY_NAME: dict[str, str] = {
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "makefile": "makefile",
    "gnumakefile": "makefile",
    "justfile": "makefile",
    "cmakelists.txt": "cmake",
    "jenkinsfile": "groovy",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "vagrantfile": "ruby",
    ".bashrc": "shell",
    ".bash_profile": "shell",
    ".profile": "shell",
    ".zshrc": "shell",
    ".gitconfig": "ini",
    ".editorconfig": "ini",
    "pipfile": "toml",
    "cargo.lock": "toml",
    "poetry.lock": "toml",
}
"""Lower-case file name → file type, for names that say more than their suffix."""

LANGUAGES: dict[str, str] = {
    "markdown": "markdown",
    "python": "python",
    "typescript": "ts",
    "javascript": "js",
    "java": "java",
    "kotlin": "kotlin",
    "scala": "scala",
    "groovy": "java",
    "go": "go",
    "rust": "rust",
    "rst": "rst",
    "html": "html",
    "c": "c",
    "cpp": "cpp",
    "csharp": "csharp",
    "ruby": "ruby",
    "php": "php",
    "swift": "swift",
    "lua": "lua",
    "r": "r",
    "haskell": "haskell",
    "elixir": "elixir",
    "powershell": "powershell",
    "visualbasic": "visualbasic6",
    "cobol": "cobol",
    "solidity": "sol",
    "protobuf": "proto",
    "latex": "latex",
    "dart": "java",
    "vue": "html",
    "svelte": "html",
}
"""File type → the value of LangChain's ``Language`` whose separators suit it."""


def file_type(path: PurePosixPath) -> str:
    """The type of the file at ``path`` by its name alone; ``text`` when the name says nothing."""
    name = path.name.lower()
    return TYPE_BY_NAME.get(name) or TYPE_BY_SUFFIX.get(path.suffix.lower(), "text")


def language(name: str) -> str | None:
    """The value of LangChain's ``Language`` for file type ``name``, or None for a generic split."""
    return LANGUAGES.get(name)
