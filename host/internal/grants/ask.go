package grants

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNoAnswer reports that a question got no answer. Nothing was decided.
var ErrNoAnswer = errors.New("no answer on standard input. Run `tidemark project allow` or `tidemark project deny`.")

// Ask asks the user whether Tidemark may take snapshots of a project's files, and records the answer, so that it asks
// once. It returns whether the grant [Workspace] is given. If a decision applies already, it does not ask. For a
// directory that [Store.Examine] refuses, it returns that error and does not ask. Call it only with a terminal.
//
// Only y or yes allows. After the context ends, a read of in may still be pending.
func (s *Store) Ask(ctx context.Context, in io.Reader, out io.Writer, dir string) (bool, error) {
	d, err := s.Lookup(dir)
	if err != nil {
		return false, err
	}
	if d.State != Undecided {
		return d.Has(Workspace), nil
	}
	if err := s.Examine(ctx, d.Dir); err != nil {
		return false, err
	}
	question := "Allow Tidemark to take snapshots of the files of this project, " + Printable(d.Dir) + "? They stay on this machine."
	yes, err := confirm(ctx, in, out, question)
	if err != nil {
		return false, err
	}
	if yes {
		d, err = s.Allow(ctx, d.Dir, nil, nil)
	} else {
		d, err = s.Deny(ctx, d.Dir)
	}
	return err == nil && d.Has(Workspace), err
}

// AskFor asks the user whether a project gets another grant, too. The question says what the grant allows. Without a yes, the
// decision stays as it is.
func (s *Store) AskFor(ctx context.Context, in io.Reader, out io.Writer, dir, grant, question string) (bool, error) {
	yes, err := confirm(ctx, in, out, question)
	if !yes {
		return false, err
	}
	d, err := s.Allow(ctx, dir, []string{grant}, nil)
	return err == nil && d.Has(grant), err
}

// confirm reads the answer to a question.
func confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	if _, err := io.WriteString(out, question+" [y/N] "); err != nil {
		return false, err // the user could not see the question
	}
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // only an answer or the end of the process ends its read
		line, err := bufio.NewReader(in).ReadString('\n')
		answers <- answer{line, err}
	}()
	var got answer
	select {
	case <-ctx.Done():
		fmt.Fprintln(out)
		return false, ctx.Err()
	case got = <-answers:
	}
	if got.err != nil { // an answer without a return key may be incomplete
		fmt.Fprintln(out)
		return false, ErrNoAnswer
	}
	text := strings.ToLower(strings.TrimSpace(got.line))
	return text == "y" || text == "yes", nil
}
