package regression

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
)

const (
	// maxRun bounds one run of a command.
	maxRun = 5 * time.Minute
	// maxOutput is how much of the end of a failed command's output is shown, in bytes.
	maxOutput = 1000
	// skipped is the exit code by which a command says that the files cannot be tested, as for git bisect.
	skipped = 125
)

// bisect finds the first place of a span at which a command fails.
func (f *Finder) bisect(ctx context.Context, client *checkpoint.Client, span *timeline.Span, p Params, a *Regression) error {
	failed := func(i int) (bool, error) {
		r, err := f.run(ctx, span, &span.Places[i], p.Run)
		if err != nil {
			return false, err
		}
		a.Runs = append(a.Runs, *r)
		if r.Exit == skipped || r.Exit < 0 {
			return false, errUntested
		}
		return r.Exit != 0, nil
	}
	unknown := func(reason string) error {
		a.Verdict, a.Reason = Unknown, reason
		return nil
	}
	if len(span.Places) == 0 {
		return unknown("no snapshots of this time are there any more, so the command has no files to run with")
	}
	good, bad := 0, len(span.Places)-1
	for _, end := range []struct {
		at   int
		fail bool
	}{{bad, true}, {good, false}} {
		is, err := failed(end.at)
		switch {
		case errors.Is(err, errUntested):
			return unknown("the command cannot test " + span.Places[end.at].ID())
		case err != nil:
			return err
		case end.fail && !is:
			a.Verdict, a.Reason = Clean, "the command succeeds with the files of "+span.Places[end.at].ID()
			return nil
		case !end.fail && is:
			return unknown("the command already fails with the files of " + span.Places[end.at].ID())
		}
	}
	untested := map[int]bool{}
	for bad-good > 1+len(untested) {
		middle := next(good, bad, untested)
		is, err := failed(middle)
		switch {
		case errors.Is(err, errUntested):
			untested[middle] = true
			continue
		case err != nil:
			return err
		case is:
			bad = middle
		default:
			good = middle
		}
		for i := range untested {
			if i <= good || i >= bad {
				delete(untested, i)
			}
		}
	}
	if len(untested) > 0 {
		return unknown(fmt.Sprintf("it is one of the %d moments after %s, up to %s, which the command cannot all test", bad-good, span.Places[good].ID(), span.Places[bad].ID()))
	}
	a.Verdict = Found
	return f.name(ctx, client, &span.Places[good], &span.Places[bad], a)
}

var errUntested = errors.New("the command cannot test these files")

// next returns the place nearest to the middle that is not untested.
func next(good, bad int, untested map[int]bool) int {
	middle := (good + bad) / 2
	for away := 0; ; away++ {
		for _, i := range []int{middle - away, middle + away} {
			if i > good && i < bad && !untested[i] {
				return i
			}
		}
	}
}

// run runs a command with the files of a place.
func (f *Finder) run(ctx context.Context, span *timeline.Span, p *moments.Place, command string) (*Run, error) {
	r := &Run{Moment: p.ID()}
	return r, span.In(ctx, f.Timeline, p, func(dir string) error {
		limited, cancel := context.WithTimeout(ctx, maxRun)
		defer cancel()
		out := subprocess.Tail{Most: 64 * maxOutput}
		cmd := shell(limited, command)
		subprocess.Whole(cmd)
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &out, time.Second
		err := subprocess.Run(cmd)
		subprocess.EndRest(cmd) // it would answer the next run with these files
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var exit *exec.ExitError
		switch {
		case err == nil:
			return nil
		case limited.Err() != nil:
			r.Exit = -1
		case errors.As(err, &exit):
			r.Exit = exit.ExitCode()
		default:
			return fmt.Errorf("cannot run the command: %w", err)
		}
		text := timeline.Clean(f.Timeline, out.String())
		r.Output = strings.ToValidUTF8(text[max(0, len(text)-maxOutput):], "")
		return nil
	})
}
