"""The documentation as a site: what MkDocs calls (mkdocs.yml), and the pages that are generated."""
