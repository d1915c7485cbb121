package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/demo"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// shop breaks the demo shop in every way it knows, and mends it again, which must be healthy.
func (d *detection) shop() (err error) {
	w, err := testbed.Start(d.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	shop := demo.New()
	url, err := shop.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.Close()) }()
	agent, err := w.Agent("--origin", strings.TrimSuffix(url, "/"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	tab, err := w.Open(url)
	if err != nil {
		return err
	}
	defer tab.Close()
	look := func() (string, error) {
		return agent.Text("get_changes_since", map[string]any{"wait": "settled", "timeout_ms": 5000})
	}
	// edit has the shop served otherwise, does what shows it, and looks.
	edit := func(apply func(*demo.Shop), reload bool, steps string) (string, error) {
		apply(shop)
		if reload {
			if err := tab.Do(chromedp.Reload()); err != nil {
				return "", err
			}
		}
		if err := tab.JS("await " + demo.Script(steps)); err != nil {
			return "", err
		}
		return look()
	}
	var failed []error
	for i, b := range demo.Breakages {
		name := "the shop: " + b.Title
		if d.leftOut(i, name) {
			continue
		}
		progress("signal: the shop, %d of %d …", i+1, len(demo.Breakages))
		err := func() error {
			if err := tab.JS("await " + demo.Script("await ready();"+b.Prepare)); err != nil {
				return err
			}
			if _, err := look(); err != nil {
				return err
			}
			answer, err := edit(b.Break, b.Reload, b.Trigger)
			if err != nil {
				return err
			}
			if b.Expect.Severity == string(report.Clean) {
				d.healthy(name, answer)
			} else {
				d.regression(name, answer, wanted(b.Expect), "")
			}
			if answer, err = edit(b.Mend, b.Reload, b.Recover); err != nil {
				return err
			}
			d.healthy(name+", mended", answer)
			return nil
		}()
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(failed...)
}

// wanted are the parts of an answer's JSON that name what is expected.
func wanted(e demo.Expect) []string {
	var parts []string
	for _, list := range [][]string{e.Errors, e.Warnings, e.SocketErrors, e.Elements} {
		for _, text := range list {
			parts = append(parts, inJSON(text))
		}
	}
	for _, url := range append(append([]string{}, e.Degraded...), e.Disconnections...) {
		parts = append(parts, `"url":"`+url+`"`)
	}
	for _, f := range e.Failures {
		parts = append(parts, fmt.Sprintf(`%s","status":%d`, f.URL, f.Status), inJSON(f.Error))
	}
	return parts
}

// inJSON is a text as it stands inside a string of an answer.
func inJSON(text string) string {
	data, err := report.Encode(text)
	if err != nil {
		panic(err) // a string always encodes
	}
	return string(data[1 : len(data)-1])
}
