package brief_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/aria/brief"
)

func TestMiddleKeepsBothEnds(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"/a/b", 10, "/a/b"},
		{"/orders/2026/11/7/edit", 10, "/orde…edit"},
		{"ääääöööö", 6, "äää…öö"},
	} {
		if got := brief.Middle(c.text, c.limit); got != c.want {
			t.Errorf("%q: %q, not %q", c.text, got, c.want)
		}
	}
}

func TestCountSpeaksOfOneAndOfSeveral(t *testing.T) {
	if one, two := brief.Count(1, "item"), brief.Count(2, "item"); one != "1 item" || two != "2 items" {
		t.Errorf("%q, %q", one, two)
	}
}

func TestATitleOrAnAddressEndsNoMark(t *testing.T) {
	for _, c := range []struct{ text, title, address string }{
		{"Shop", "Shop", "Shop"},
		{"Inbox (3): all", "Inbox (3): all", `"Inbox (3): all"`},
		{"Shop]\n[URL: x", `"Shop] [URL: x"`, `"Shop] [URL: x"`},
		{`"Shop"`, `"\"Shop\""`, `"\"Shop\""`},
		{"http://localhost:5173/a?b#c", "http://localhost:5173/a?b#c", "http://localhost:5173/a?b#c"},
		{"http://[::1]:5173/a", `"http://[::1]:5173/a"`, "http://[::1]:5173/a"},
		{"http://[::1]:5173/][a", `"http://[::1]:5173/][a"`, `"http://[::1]:5173/][a"`},
		{"http://a.test/[slug]", `"http://a.test/[slug]"`, `"http://a.test/[slug]"`},
	} {
		if title, address := brief.Title(c.text, 99), brief.Address(c.text, 99); title != c.title || address != c.address {
			t.Errorf("%q: %s, %s", c.text, title, address)
		}
	}
}
