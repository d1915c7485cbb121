package compare

import (
	"path"
	"strings"
)

// SecretFile is a kind of file that is not shown unless the caller asks for it.
type SecretFile struct {
	// Pattern is matched against the name of a file, or against the end of its path where it has a "/". Letters match in
	// both cases. The syntax is that of [path.Match].
	Pattern string
	// Reason says what such a file has in it.
	Reason string
}

// SecretFiles lists them.
var SecretFiles = []SecretFile{
	{".env", "environment variables, often with passwords and keys"},
	{".env.*", "environment variables, often with passwords and keys"},
	{"*.env", "environment variables, often with passwords and keys"},
	{".envrc", "environment variables that direnv loads, often with keys"},
	{".dev.vars*", "secrets of a local Cloudflare worker"},
	{"*.pem", "a key or certificate; private keys have this ending too"},
	{"*.key", "a private key"},
	{"*.p8", "a private key"},
	{"*.p12", "a private key with its certificate"},
	{"*.pfx", "a private key with its certificate"},
	{"*.jks", "a Java key store"},
	{"*.keystore", "a key store, such as one that signs Android packages"},
	{"*.ppk", "a private key of PuTTY"},
	{"*.asc", "an armored key or message of PGP"},
	{"*.gpg", "a key or message of GnuPG"},
	{"*.kdbx", "a password database of KeePass"},
	{"*.age", "a file encrypted with age"},
	{"id_rsa*", "a private key of SSH"},
	{"id_dsa*", "a private key of SSH"},
	{"id_ecdsa*", "a private key of SSH"},
	{"id_ed25519*", "a private key of SSH"},
	{".npmrc", "a token for a package registry"},
	{".yarnrc.yml", "a token for a package registry"},
	{".pypirc", "a password for a package registry"},
	{".netrc", "passwords by host"},
	{"_netrc", "passwords by host"},
	{".git-credentials", "passwords of Git by host"},
	{".pgpass", "passwords of PostgreSQL"},
	{".my.cnf", "a password of MySQL"},
	{".htpasswd", "hashes of passwords"},
	{".dockercfg", "tokens for container registries"},
	{".docker/config.json", "tokens for container registries"},
	{"credentials", "credentials, such as those of AWS"},
	{"credentials.*", "credentials"},
	{"*credentials.json", "credentials, such as those of Google Cloud"},
	{"client_secret*.json", "an OAuth client secret"},
	{"service?account*.json", "a service account's private key"},
	{"serviceaccount*.json", "a service account's private key"},
	{"secrets.*", "secrets of a framework or a deployment"},
	{"secret.*", "secrets of a framework or a deployment"},
	{"master.key", "the key of a Rails application's credentials"},
	{"kubeconfig*", "credentials of a Kubernetes cluster"},
	{"*.kubeconfig", "credentials of a Kubernetes cluster"},
	{".kube/config", "credentials of a Kubernetes cluster"},
	{"*.tfstate", "state of Terraform, with secrets in plain text"},
	{"*.tfstate.backup", "state of Terraform, with secrets in plain text"},
	{"*.tfvars", "variables of Terraform, often with secrets"},
	{"*.ovpn", "a VPN profile, often with its key"},
	{".vault-token", "a token of Vault"},
}

// notSecret are names that [SecretFiles] matches and that have no secrets in them.
var notSecret = []string{".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub"}

// sources are endings of program code: credentials.go has no credentials in it.
var sources = map[string]bool{
	".c": true, ".cc": true, ".cpp": true, ".cs": true, ".dart": true, ".ex": true, ".go": true, ".h": true, ".java": true, ".js": true,
	".jsx": true, ".kt": true, ".mjs": true, ".php": true, ".py": true, ".rb": true, ".rs": true, ".scala": true, ".svelte": true,
	".swift": true, ".ts": true, ".tsx": true, ".vue": true, ".md": true, ".html": true, ".css": true,
}

// SecretPath returns why a path looks like that of a secret, "" where it does not.
func SecretPath(p string) string {
	p = strings.ToLower(p)
	base := path.Base(p)
	for _, pattern := range notSecret {
		if ok, _ := path.Match(pattern, base); ok {
			return ""
		}
	}
	for _, s := range SecretFiles {
		name := base
		if n := strings.Count(s.Pattern, "/"); n > 0 {
			name = tail(p, n)
		} else if sources[path.Ext(base)] && !strings.HasPrefix(base, ".") {
			continue
		}
		if ok, _ := path.Match(s.Pattern, name); ok {
			return s.Reason
		}
	}
	return ""
}

// tail returns the last names of a path, with n slashes between them.
func tail(p string, n int) string {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] == '/' {
			if n == 0 {
				return p[i+1:]
			}
			n--
		}
	}
	return p
}

// secretContent returns why a content looks like a secret as a whole. Single secrets in a text are masked instead.
func secretContent(s string) string {
	trimmed := strings.TrimLeft(s, " \t\r\n\ufeff")
	switch {
	case strings.HasPrefix(trimmed, "-----BEGIN ") && strings.Contains(firstLine(trimmed), "PRIVATE KEY"):
		return "a private key"
	case strings.HasPrefix(trimmed, "{") && strings.Contains(s, `"service_account"`) && strings.Contains(s, `"private_key"`):
		return "a service account's private key"
	case strings.HasPrefix(trimmed, "apiVersion:") && strings.Contains(s, "client-key-data:"):
		return "credentials of a Kubernetes cluster"
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
