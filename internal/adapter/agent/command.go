package agent

import (
	"runtime"
	"strings"
)

// command returns what a person types to start this agent with fingerprints for the server's certificate.
func (o Options) command(server string, fingerprints ...string) string {
	words := []string{"muster", "agent", "--server", server}
	for _, fingerprint := range fingerprints {
		words = append(words, "--fingerprint", fingerprint)
	}
	words = append(words, "--home", o.Home)
	if o.KeyFile != "" {
		words = append(words, "--key-file", o.KeyFile)
	}
	if o.Observe {
		words = append(words, "--observe")
	}
	if len(o.Allow) > 0 {
		words = append(words, "--allow", strings.Join(o.Allow, ","))
	}
	for i, word := range words {
		words[i] = quotedForShell(word)
	}
	return strings.Join(words, " ")
}

// keyToRepeat says that a printed command lacks the enrol key.
func (o Options) keyToRepeat() string {
	if o.Key.IsZero() || o.KeyFile != "" {
		return ""
	}
	return ", with the enrol key as before"
}

// quotedForShell quotes a word for the shells of this system, where it needs quotes.
func quotedForShell(word string) string {
	plain := strings.IndexFunc(word, func(r rune) bool {
		return !strings.ContainsRune("-_./:,@=+~", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') &&
			(r < 'a' || r > 'z') &&
			(r != '\\' || runtime.GOOS != "windows")
	}) < 0
	switch {
	case plain && word != "":
		return word
	case runtime.GOOS == "windows":
		return `"` + word + `"` // A path holds no quote there.
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
