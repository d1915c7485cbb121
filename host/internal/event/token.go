package event

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// Page text gets into a line of an answer in two ways only: as a token, which is a word of a closed list ([role],
// [state], [word]), or as text on one line ([OneLine]) that whoever writes the line puts in quotes or at its end. Text
// that may have several lines, such as what a console or a field holds, is always quoted.

// roles are those of ARIA and of digital publishing, and what Tidemark adds: what shows something and has no role there, blocks
// that look like the items of a list, and text.
var roles = closed(`alert alertdialog application article banner blockquote button caption cell checkbox code columnheader
	combobox complementary contentinfo definition deletion dialog directory document emphasis feed figure form generic grid
	gridcell group heading img insertion link list listbox listitem log main mark marquee math menu menubar menuitem
	menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation progressbar radio radiogroup
	region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong subscript suggestion
	superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem
	doc-abstract doc-acknowledgments doc-afterword doc-appendix doc-backlink doc-biblioentry doc-bibliography
	doc-biblioref doc-chapter doc-colophon doc-conclusion doc-cover doc-credit doc-credits doc-dedication
	doc-endnote doc-endnotes doc-epigraph doc-epilogue doc-errata doc-example doc-footnote doc-foreword
	doc-glossary doc-glossref doc-index doc-introduction doc-noteref doc-notice doc-pagebreak doc-pagefooter
	doc-pageheader doc-pagelist doc-part doc-preface doc-prologue doc-pullquote doc-qna doc-subtitle doc-tip
	doc-toc
	iframe item text audio canvas video`)

// otherRole stands for a role that is none: the element is a container of what it holds.
const otherRole = "group"

// states are the states of elements with the values that they may have beside none.
var states = map[string]map[string]bool{
	"checked": closed("mixed"), "pressed": closed("mixed"), "invalid": closed("grammar spelling"), "selected": nil, "expanded": nil,
	"collapsed": nil, "disabled": nil, "required": nil, "readonly": nil, "busy": nil, "modal": nil, "clickable": nil, "editable": nil,
	"focused": nil, "active": nil, "multiselectable": nil, "current": closed("page step location date time"), "sort": closed("ascending descending other"),
	"live": closed("polite assertive"), "haspopup": closed("menu listbox tree grid dialog"), "inert": nil, "no-pointer": nil,
	"deleted": nil, "inserted": nil, "highlighted": nil,
}

// valued are the states that say nothing without a value.
var valued = closed("sort live haspopup level lines rows")

// counted are the states whose values are numbers: of a level, of a table's rows, and of an editor's lines or the first and
// the last that it draws.
var counted = lazyregexp.New(`^(level=[0-9]{1,3}|rows=[0-9]{1,9}|lines=~?[0-9]{1,7}(-[0-9]{1,7})?(,[0-9]{1,7}(-[0-9]{1,7})?){0,4}( folded)?(\+| of ~[0-9]{1,7}(-[0-9]{1,7}|\+)?)?)$`)

func closed(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

func role(s string) string {
	if roles[s] {
		return s
	}
	return otherRole
}

// state is a state of an element; not ok for one that there is not. As in ARIA, a value that is none of its own is as
// good as none.
func state(s string) (as string, ok bool) {
	if counted().MatchString(s) {
		return s, true
	}
	name, value, has := strings.Cut(s, "=")
	values, known := states[name]
	switch {
	case !known:
		return "", false
	case has && values[value]:
		return s, true
	}
	return name, !valued[name]
}

// word is a name that the extension gives something, of letters and underscores; "other" for anything else.
func word(s string) string {
	for _, r := range s {
		if (r < 'a' || r > 'z') && r != '_' {
			return "other"
		}
	}
	return cut(s, 40)
}
