// Package roles sorts the accessibility roles of elements by what they are for.
//
// It guarantees: the sets never change.
package roles

import "strings"

// The sets of roles.
var (
	// Operable are the roles that users act on. A generic element is one without a role that accepts clicks or focus.
	Operable = set(`button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio scrollbar
		searchbox slider spinbutton switch tab textbox treeitem generic doc-backlink doc-biblioref doc-glossref doc-noteref`)
	// Spoken are roles that exist for their text.
	Spoken = set(`alert alertdialog dialog status log timer`)
	// Rows are roles that distinguish their contents: "Delete" means nothing without its row.
	Rows = set(`row listitem article treeitem`)
	// Landmarks are kept if they have contents or a name.
	Landmarks = set(`banner navigation main complementary contentinfo search form region doc-acknowledgments doc-afterword
		doc-appendix doc-bibliography doc-chapter doc-conclusion doc-credits doc-endnotes doc-epilogue doc-errata doc-foreword
		doc-glossary doc-index doc-introduction doc-pagelist doc-part doc-preface doc-prologue doc-toc`)
	// Frameworks are containers that show how their contents belong together.
	Frameworks = set(`radiogroup tablist menu menubar toolbar grid table tree listbox feed tabpanel group`)
	// Items are roles of what a script may make operable without a sign of it, with what they are called. Lists have these.
	Items = map[string]string{"listitem": "item", "article": "item", "item": "item", "term": "item", "row": "row"}
	Lists = set(`list feed table grid treegrid`)
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
