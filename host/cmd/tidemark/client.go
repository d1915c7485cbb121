package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/viewclient"
)

// clientOf returns a client that sees everything.
func clientOf(h home.Home) *viewclient.Client {
	return &viewclient.Client{Home: h, Name: "cli", Wording: inCommands.Replace}
}

// newClient returns a client for the project in the working directory.
func newClient() (*viewclient.Client, error) {
	c, unreadable, err := anyClient()
	return c, cmp.Or(err, unreadable)
}

// anyClient is [newClient] for a command that works in a project whose file is unreadable, because it may repair that file.
// Nothing of a browser is in its scope then, and unreadable is why.
func anyClient() (c *viewclient.Client, unreadable, err error) {
	h, err := home.Find(version)
	if err != nil {
		return nil, nil, err
	}
	c = clientOf(h)
	if c.Origins, unreadable = projectOrigins(); unreadable != nil {
		c.Origins = nowhere
	}
	c.Project, c.Shift = findProject(), shifts()
	c.Dir, _ = os.Getwd() // without one, there are no changes of files
	return c, unreadable, nil
}

// clientFor returns a client for the call of a tool. Only those about the browser need a readable project file.
func clientFor(tool string) (*viewclient.Client, error) {
	switch about, _, _ := strings.Cut(tool, "_"); about {
	case "checkpoint", "configure", "find", "get":
		return newClient()
	}
	c, _, err := anyClient()
	return c, err
}

// warnUnreadable says that a command ignores an unreadable project file.
func warnUnreadable(cmd *cobra.Command, unreadable error) {
	fmt.Fprintln(cmd.ErrOrStderr(), "Nothing of the browser is shown until you fix this project file: "+oneLine(unreadable.Error()))
}
