module tidemark.dev/tidemark

go 1.26
