package lazyregexp_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

func TestAnExpressionIsTheSameAtEachCall(t *testing.T) {
	expr := lazyregexp.New(`^a+$`)
	if !expr().MatchString("aa") || expr().MatchString("b") {
		t.Error("does not match as ^a+$ does")
	}
	if first, second := expr(), expr(); first != second {
		t.Error("was compiled twice")
	}
}

func TestATestFindsAWrongExpression(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression is found only when it is used")
		}
	}()
	lazyregexp.New(`(`)
}
