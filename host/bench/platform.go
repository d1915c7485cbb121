package main

import (
	"fmt"

	"tidemark.dev/tidemark/host/testing/platform"
	"tidemark.dev/tidemark/installer"
)

// platformCases compares names and roles with those of the web platform's specifications, and with what Chromium's own tree
// and Playwright make of the same elements. The peers' packages have Playwright.
func platformCases(r *run) error {
	chromium, err := installer.FindBrowser()
	if err != nil {
		return err
	}
	cases, err := platform.Cases()
	if err != nil {
		return err
	}
	answers, err := platform.Ask(peersDir, chromium.Path, cases)
	if err != nil {
		return err
	}
	s := r.sheet("Names and roles of the platform's specifications, right by Tidemark, by Chromium's own tree, by Playwright")
	for _, g := range platform.Groups(cases, answers) {
		s.figure(fmt.Sprintf("%s, %d cases", g.Name, g.Cases), fmt.Sprintf("%d, %d, %d", g.Tidemark+g.Alone, g.Chromium, g.Playwright))
	}
	sum := platform.Sum(cases, answers)
	s.figure(fmt.Sprintf("all %d cases", sum.Cases), fmt.Sprintf("%d, %d, %d", sum.Tidemark+sum.Alone, sum.Chromium, sum.Playwright))
	share := 100 * float64(sum.Tidemark) / float64(sum.Either)
	s.row(fmt.Sprintf("of %d that Chromium or Playwright gets right", sum.Either), fmt.Sprintf("%d: %.1f %% (%d differ on purpose)", sum.Tidemark, share, sum.Differs), "at least 99 %", share >= 99)
	return s.print()
}
