package milestone

import (
	"mvdan.cc/sh/v3/syntax"

	"tidemark.dev/tidemark/host/internal/shellsyntax"
)

// serving are commands that start a development server. They run until they are interrupted, so that their end is no milestone.
var serving = []recognition{
	{command: "npm run dev"},
	{command: "npm run start"},
	{command: "npm start"},
	{command: "npm run serve"},
	{command: "npm run preview"},
	{command: "pnpm dev"},
	{command: "pnpm run dev"},
	{command: "pnpm start"},
	{command: "pnpm run start"},
	{command: "yarn dev"},
	{command: "yarn run dev"},
	{command: "yarn start"},
	{command: "yarn run start"},
	{command: "bun dev"},
	{command: "bun run dev"},
	{command: "bun start"},
	{command: "bun run start"},
	{command: "deno task dev"},
	{command: "deno task start"},
	{command: "vite"},
	{command: "vite dev"},
	{command: "vite serve"},
	{command: "vite preview"},
	{command: "next dev"},
	{command: "next start"},
	{command: "nuxt dev"},
	{command: "astro dev"},
	{command: "gatsby develop"},
	{command: "react-scripts start"},
	{command: "ng serve"},
	{command: "vue-cli-service serve"},
	{command: "webpack serve"},
	{command: "parcel"},
	{command: "rails server"},
	{command: "rails s"},
	{command: "flask run"},
	{command: "python manage.py runserver"},
	{command: "python3 manage.py runserver"},
	{command: "php artisan serve"},
	{command: "hugo server"},
	{command: "jekyll serve"},
	{command: "mix phx.server"},
	{command: "docker compose up"},
}

// Serves reports whether a command line starts a development server, and whether the shell goes on meanwhile.
func Serves(command string) (serves, behind bool) {
	file, ok := shellsyntax.Parse(command)
	if !ok {
		return false, false
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Stmt:
			behind = behind || n.Background
		case *syntax.CallExpr:
			var argv []string
			for _, w := range n.Args {
				argv = append(argv, w.Lit())
			}
			if len(argv) == 0 {
				return true
			}
			argv = unwrapped(argv)
			for _, r := range serving {
				serves = serves || r.matches(argv)
			}
		}
		return true
	})
	return serves, behind
}
