package main

import "strings"

// An exception allows a count to be over its cap. Where is a place as [over] has it; one that ends in "/" is every place
// below it.
type exception struct {
	kind  kind
	where string
	why   string
}

func (e exception) allows(o over) bool {
	return e.kind == o.kind && (e.where == o.where || strings.HasSuffix(e.where, "/") && strings.HasPrefix(o.where, e.where))
}

var exceptions = []exception{
	{filesOfPackage, "host/cmd/tidemark", "one file a command"},
	{linesOfPackage, "host/cmd/tidemark", "one file a command, and each only calls the packages"},
	{filesOfPackage, "host/bench", "one file a figure"},
	{linesOfPackage, "host/bench", "one file a figure, and nothing imports it"},
	{methodsOfType, "host/internal/workspace/restore.dir", "every system has its own methods, and a build has those of one"},
}
