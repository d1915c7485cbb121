package diff

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/event"
)

// query is the query of a request. It is folded by [alike.Query] when it is compared with another one.
type query struct {
	asked, folded string
	isFolded      bool
}

// queryAsked returns the query of a request. Requests of Engine.IO's transport differ in it without a difference for a project.
func queryAsked(e *event.Network) query {
	_, asked, _ := strings.Cut(e.URL, "?")
	if asked, _, _ = strings.Cut(asked, "#"); asked == "" || e.EngineIO() {
		return query{}
	}
	return query{asked: asked}
}

// is reports whether two requests ask for the same.
func (q *query) is(other *query) bool { return q.asked == other.asked || q.fold() == other.fold() }

func (q *query) fold() string {
	if !q.isFolded {
		q.folded, q.isFolded = alike.Query(q.asked), true
	}
	return q.folded
}
