package platform

import (
	"slices"
	"testing"
)

func TestEachCaseIsGivenOnce(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Case]bool{}
	for _, c := range cases {
		if seen[c] {
			t.Errorf("twice: %s", c.ID())
		}
		seen[c] = true
	}
}

func TestALineStandsForEachOfItsValues(t *testing.T) {
	cases, err := parse("@ a/b.html\n$1 | x (why) | <i case role=$1 lang=$2> | p:q r:s\n~ Because.\n* | \"\" | <b case>\n~\n* | y | <u case>\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Case{
		{Source: "a/b.html", HTML: "<i case role=p lang=q>", Role: "p", Name: "x", Description: "why"},
		{Source: "a/b.html", HTML: "<i case role=r lang=s>", Role: "r", Name: "x", Description: "why"},
		{Source: "a/b.html", HTML: "<b case>", Role: "*", Name: "", Description: "*", Differs: "Because."},
		{Source: "a/b.html", HTML: "<u case>", Role: "*", Name: "y", Description: "*"},
	}
	if !slices.Equal(cases, want) {
		t.Errorf("%+v", cases)
	}
}

func TestWordsThatOnlyLookDifferentHaveNoLine(t *testing.T) {
	strong, heading := Case{Role: "strong", Name: "*", Description: "*"}, Case{Role: "heading", Name: "*", Description: "*"}
	if none := (Seen{}); !strong.Right(strong.InTree(none)) || heading.Right(heading.InTree(none)) {
		t.Error("an element without a line is right for a role of words only")
	}
}
