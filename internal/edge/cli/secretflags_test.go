package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/alecthomas/kong"
)

// modelOf are the commands as kong reads them.
func modelOf(t *testing.T, into *commands) *kong.Kong {
	t.Helper()
	return parserOf(t, into)
}

func parserOf(t *testing.T, into any) *kong.Kong {
	t.Helper()
	parser, err := newParser(into, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

func newParser(into any, home string) (*kong.Kong, error) {
	parser, err := kong.New(into, kong.Name("muster"), kong.DefaultEnvars("MUSTER"),
		kong.Vars{"home": home, "syncthingHome": home}, kong.Bind(&environment{}))
	if err == nil {
		describeSettings(parser.Model.Node)
	}
	return parser, err
}

var madeNodes = sync.OnceValues(func() (*kong.Kong, error) { return newParser(&commands{}, "/home/somebody") })

// allNodes is the tree of all commands, for tests that only read it: they share it.
func allNodes(t *testing.T) *kong.Node {
	t.Helper()
	parser, err := madeNodes()
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model.Node
}

// parsers understand commands as Run does, each by the grammar of its first word. By the grammar of all commands, kong
// would go through each of them for each command that it parses.
type parsers map[string]*kong.Kong

func (p parsers) parse(t *testing.T, words []string) error {
	t.Helper()
	words = joinedSorts(words)
	parser := p[first(words)]
	if parser == nil {
		parser = parserOf(t, grammar(first(words)))
		p[first(words)] = parser
	}
	unset(parser)
	_, err := parser.Parse(words)
	return err
}

// eachFlag goes through the flags of every command.
func eachFlag(node *kong.Node, visit func(command string, flags map[string]*kong.Flag)) {
	flags := map[string]*kong.Flag{}
	for _, flag := range node.Flags {
		flags[flag.Name] = flag
	}
	visit(node.FullPath(), flags)
	for _, child := range node.Children {
		eachFlag(child, visit)
	}
}

// What stands on a command line is in the list of processes.
func TestEveryFlagForASecretHasAFlagForAFile(t *testing.T) {
	secret, seen := regexp.MustCompile(
		`(password|passphrase|secret|token|seal-key|database|notify-url)$`,
	), map[string]bool{}
	eachFlag(allNodes(t), func(command string, flags map[string]*kong.Flag) {
		for name, flag := range flags {
			kind := flag.Target.Kind()
			if !secret.MatchString(name) || kind != reflect.String && kind != reflect.Slice {
				continue
			}
			seen[name] = true
			twin := flags[name+fileSuffix]
			if !flag.Tag.Has(secretTag) || twin == nil || twin.Target.Kind() != reflect.String {
				t.Errorf("%s --%s: it has no flag for a file, or no tag %q", command, name, secretTag)
			}
			if twin != nil && !strings.Contains(flag.Help+twin.Help, "file") && !strings.Contains(twin.Help, "File") {
				t.Errorf("%s --%s: the help does not name the flag for a file", command, name)
			}
		}
	})
	for _, name := range []string{"database", "notify-url", "notify-secret", "smtp-password", "seal-key", "token"} {
		if !seen[name] {
			t.Errorf("--%s was not found", name)
		}
	}
}

func parse(t *testing.T, args ...string) (*commands, error) {
	t.Helper()
	var into commands
	parsed, err := modelOf(t, &into).Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	return &into, fillSecrets(parsed.Flags())
}

func secretFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSecretsComeFromFiles(t *testing.T) {
	got, err := parse(t, "serve", "--smtp-password-file", secretFile(t, "with a space \r\n", 0o640),
		"--notify-url-file", secretFile(t, "https://a.example/x\nhttps://b.example/y\n", 0o600))
	if err != nil || got.Serve.SMTPPassword != "with a space " ||
		!reflect.DeepEqual(got.Serve.NotifyURL, []string{"https://a.example/x", "https://b.example/y"}) {
		t.Errorf("got %q, %q, %v", got.Serve.SMTPPassword, got.Serve.NotifyURL, err)
	}
}

func TestAFileWithASecretIsRefusedWithTheCommandThatMendsIt(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"others may read":     {[]string{"--token-file", secretFile(t, "x", 0o644)}, "chmod o= "},
		"others may write":    {[]string{"--token-file", secretFile(t, "x", 0o602)}, "chmod go-w "},
		"the group may write": {[]string{"--token-file", secretFile(t, "x", 0o660)}, "chmod go-w "},
		"absent":              {[]string{"--token-file", filepath.Join(t.TempDir(), "absent")}, "exists"},
		"empty":               {[]string{"--token-file", secretFile(t, "\n", 0o600)}, "is empty"},
		"both":                {[]string{"--token-file", secretFile(t, "x", 0o600), "--token", "y"}, "both given"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errs := run(t, append([]string{"token", "list"}, test.args...)...)
			if !refuses(code) || !strings.Contains(errs, test.want) {
				t.Errorf("got %d, %q, want %q", code, errs, test.want)
			}
		})
	}
}

func TestSystemdCredentialsAreFoundByName(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", folder)
	for name, text := range map[string]string{"smtp-password": "of the unit\n", "tls-key": "key", "tls-cert": "cert",
		"database": "postgres://unit@localhost/muster"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	got, err := parse(t, "serve", "--database-file", secretFile(t, "postgres://given@localhost/muster", 0o600))
	if err != nil || got.Serve.SMTPPassword != "of the unit" || got.Serve.TLSKey != filepath.Join(folder, "tls-key") ||
		got.Serve.TLSCert != filepath.Join(folder, "tls-cert") || got.Serve.SealKey != "" {
		t.Errorf("got %+v, %v", got.Serve, err)
	}
	if got.Serve.Database != "postgres://given@localhost/muster" {
		t.Errorf("got the database %q: what is given goes before a credential", got.Serve.Database)
	}
}
