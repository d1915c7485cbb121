package aria

import (
	"cmp"

	"tidemark.dev/tidemark/host/internal/aria/brief"
	"tidemark.dev/tidemark/host/internal/aria/keys"
	"tidemark.dev/tidemark/host/internal/aria/roles"
)

// maxAddress limits an address on a link's line, in characters.
const maxAddress = 60

// addresses returns the addresses of links that nothing else distinguishes, by reference: their names and their rows are
// the same, and they lead elsewhere.
func addresses(nodes []*Node) map[int]string {
	type look struct{ row, name string }
	alike := map[look][]*Node{}
	var walk func(nodes []*Node, row string)
	walk = func(nodes []*Node, row string) {
		for _, n := range nodes {
			within := row
			switch {
			case n.Role == "link" && n.Name != "":
				alike[look{row, n.Name}] = append(alike[look{row, n.Name}], n)
			case roles.Rows[n.Role] && n.Name != "":
				within = n.Name
			case roles.Rows[n.Role]:
				within = cmp.Or(ownText(n, nil), row)
			}
			walk(n.Children, within)
		}
	}
	walk(nodes, "")
	var out map[int]string
	for _, links := range alike {
		first := keys.Address(links[0].Keys)
		differ := false
		for _, n := range links[1:] {
			differ = differ || keys.Address(n.Keys) != first
		}
		if !differ {
			continue
		}
		if out == nil {
			out = map[int]string{}
		}
		for _, n := range links {
			if a := keys.Address(n.Keys); a != "" {
				out[n.Ref] = brief.Middle(a, maxAddress) // both ends may distinguish it
			}
		}
	}
	return out
}
