package cases

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/cases"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestABrokenStepIsInTheAnswerOfTheActionThatCausedIt, and in no other's.
func TestABrokenStepIsInTheAnswerOfTheActionThatCausedIt(t *testing.T) {
	o, err := cases.RunSteps(e2etest.SharedWorld(t).World, cases.Steps())
	if err != nil {
		t.Fatal(err)
	}
	for _, missed := range o.Missed {
		t.Errorf("not in its answer: %s", missed)
	}
	for _, wrong := range o.Wrong {
		t.Error(wrong)
	}
	t.Logf("%d of %d broken steps are in the answer of the action that caused them", o.Found, o.Steps)
}
