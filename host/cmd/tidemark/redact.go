package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/daemon"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/render"
)

// maxRedacted is the longest input in bytes.
const maxRedacted = 16 << 20

// explained is the output of --json.
type explained struct {
	// As is the input format that was used.
	As redact.Form `json:"as"`
	// Text is the text after masking.
	Text   string      `json:"text"`
	Masked []maskedOne `json:"masked"`
}

// maskedOne describes one masked secret. It never contains the secret.
type maskedOne struct {
	Rule string      `json:"rule"` // as shown to users
	Kind redact.Kind `json:"kind"`
	Name string      `json:"name"`
	// Line and Column count from 1. Column and Length, the length of the secret, are in characters.
	Line   int `json:"line"`
	Column int `json:"column"`
	Length int `json:"length"`
}

func newRedact() *cobra.Command {
	var explain, asJSON bool
	var as string
	cmd := &cobra.Command{
		Use:   "redact [TEXT]",
		Short: "Show what redaction masks in a text, and by which rule",
		Long: `Mask the secrets in a text or in standard input, as Tidemark masks captured data: by its built-in rules
and your rules under [redact] in config.toml. The command needs no daemon and stores nothing.`,
		Example: `  tidemark redact --explain 'login failed, password: hunter2'
  tidemark redact --explain --as headers <request.txt`,
		Args: someArgs(0, 1, "one text in quotes, or standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			form := redact.Form(as)
			if as != "" && !slices.Contains(redact.Forms, form) {
				return usageError{fmt.Errorf("--as must be text, url, json or headers, not %q", as)}
			}
			home, err := home.Find(version)
			if err != nil {
				return err
			}
			config, err := daemon.ReadConfig(home.Config)
			if err != nil {
				return err
			}
			r, err := config.Redactor()
			if err != nil {
				return err
			}
			text, err := textToRedact(cmd, args)
			if err != nil {
				return err
			}
			text = event.Clean(text) // captured text is cleaned before masking too
			if as == "" {
				form = r.Guess(text)
			}
			return showRedacted(cmd.OutOrStdout(), r, text, form, explain, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&explain, "explain", false, "show which rule masked what, and where")
	f.StringVar(&as, "as", "", "input format: text, url, json (or a form body) or headers (default: detected)")
	f.BoolVar(&asJSON, "json", false, "print JSON with the explanation")
	return cmd
}

func textToRedact(cmd *cobra.Command, args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	if f, ok := cmd.InOrStdin().(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return "", usageError{errors.New("no text given. Pass it in quotes or pipe it in.")}
		}
	}
	data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxRedacted+1))
	if err != nil {
		return "", fmt.Errorf("cannot read standard input: %w", err)
	}
	if len(data) > maxRedacted {
		return "", fmt.Errorf("the text is longer than %d MiB. Pass a part of it.", maxRedacted>>20)
	}
	return string(data), nil
}

func showRedacted(out io.Writer, r *redact.Redactor, text string, form redact.Form, explain, asJSON bool) error {
	clean, found := r.Explain(text, form)
	answer := explained{As: form, Text: clean, Masked: []maskedOne{}}
	for _, f := range found {
		line := strings.LastIndexByte(text[:f.From], '\n') + 1
		answer.Masked = append(answer.Masked, maskedOne{
			Rule: f.Rule(), Kind: f.Kind, Name: f.Name,
			Line: strings.Count(text[:f.From], "\n") + 1, Column: utf8.RuneCountInString(text[line:f.From]) + 1,
			Length: utf8.RuneCountInString(text[f.From:f.To]),
		})
	}
	if asJSON {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		return e.Encode(answer)
	}
	if err := render.Line(out, "%s", strings.TrimSuffix(clean, "\n")); err != nil || !explain {
		return err
	}
	if len(found) == 0 {
		return render.Line(out, "\n%s", render.Faint(fmt.Sprintf("nothing masked, read as %s", form)))
	}
	if err := render.Line(out, "\n%s", render.Faint(fmt.Sprintf("masked, read as %s (line:column, characters, rule):", form))); err != nil {
		return err
	}
	t := render.Table{Indent: "  "}
	for _, m := range answer.Masked {
		t.Row(fmt.Sprintf("%d:%d", m.Line, m.Column), fmt.Sprint(m.Length), m.Rule)
	}
	return t.Write(out)
}
