package render

import (
	"cmp"
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
)

// Level returns a console level as an aligned word in its color.
func Level(level string) string {
	word := fmt.Sprintf("%-7s", level)
	switch level {
	case "error":
		return red.Render(word)
	case "warning":
		return yellow.Render(word)
	}
	return faint.Render(word)
}

// Status returns a request's status, or the reason if there is none.
func Status(status int, reason string, canceled bool) string {
	switch {
	case status >= 400:
		return red.Render(fmt.Sprint(status))
	case status > 0:
		return green.Render(fmt.Sprint(status))
	case canceled:
		return faint.Render("canceled")
	}
	return red.Render(reason)
}

// Rule returns a heading with a line behind it, as wide as the terminal but at most 100 columns. The width is 0 where the output
// is no terminal.
func Rule(title string, width int) string {
	line := max(4, min(cmp.Or(width, 100), 100)-lipgloss.Width(title)-4)
	return faint.Render("──") + " " + bold.Render(title) + " " + faint.Render(strings.Repeat("─", line))
}
