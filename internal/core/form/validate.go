package form

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"muster/internal/fleet"
)

// Limits of what a person may fill in.
const (
	maxText    = 1024 // bytes of an ID, label, path or pattern
	maxTags    = 64
	maxIgnores = 1000 // lines of ignore patterns
)

// Systems are those for which a form takes a path of their own, in the words of device.os.
var Systems = []string{"windows", "darwin", "linux", "freebsd", "openbsd", "netbsd", "solaris"}

// versioningParams are the types of versioning that a form writes, with their parameters. External versioning runs a
// command, and is written as text.
var versioningParams = map[string][]string{
	"trashcan":  {"cleanoutDays"},
	"simple":    {"keep", "cleanoutDays"},
	"staggered": {"maxAge"},
}

var (
	number    = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})$`)
	pathVar   = regexp.MustCompile(`\{[A-Za-z_][A-Za-z0-9_]*\}`)
	pathBrace = regexp.MustCompile(`[{}]`)
)

// Validate reports the first field that was filled in wrong.
func (s Share) Validate() error {
	if err := text("label", s.Label); err != nil {
		return err
	}
	if err := text("folder", s.Folder); err != nil {
		return err
	}
	if err := s.validatePaths(); err != nil {
		return err
	}
	if err := s.validateRoles(); err != nil {
		return err
	}
	if s.KeepFreePercent < 0 || s.KeepFreePercent > 99 {
		return fleet.Invalidf("keepFreePercent", "between 0 and 99 percent of a disk can be kept free")
	}
	if s.Versioning != nil {
		if err := s.Versioning.validate(); err != nil {
			return err
		}
	}
	if len(s.Ignores) > maxIgnores {
		return fleet.Invalidf("ignores", "there are more than %d ignore patterns", maxIgnores)
	}
	for _, line := range s.Ignores {
		if err := text("ignores", line); err != nil {
			return err
		}
	}
	return nil
}

func (s Share) validatePaths() error {
	if len(s.Paths) == 0 {
		return fleet.Invalidf("paths", "where is the folder? Give a path, for example ~/Team")
	}
	for system, path := range s.Paths {
		if system != "" && !slices.Contains(Systems, system) {
			return fleet.Invalidf("paths", "%q is no system: %s", system, strings.Join(Systems, ", "))
		}
		if err := text("paths", path); err != nil {
			return err
		}
		if pathBrace.MatchString(pathVar.ReplaceAllString(path, "")) {
			return fleet.Invalidf("paths", "braces in a path name a var, as in ~/{team}: %q", path)
		}
	}
	return nil
}

// vars are the names of the vars in the paths, sorted and each once.
func (s Share) vars() (names []string) {
	for _, path := range s.Paths {
		for _, found := range pathVar.FindAllString(path, -1) {
			names = append(names, strings.Trim(found, "{}"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s Share) validateRoles() error {
	tags := s.Tags()
	switch {
	case len(tags) == 0:
		return fleet.Invalidf("sendReceive", "who has the folder? Give a tag for at least one role")
	case len(tags) > maxTags || len(s.Hubs) > maxTags:
		return fleet.Invalidf("sendReceive", "a form takes at most %d tags", maxTags)
	}
	for _, tag := range slices.Concat(tags, s.Hubs) {
		if _, err := fleet.ParseTag(string(tag)); err != nil {
			return err
		}
	}
	switch hasSecret := s.Secret != ""; {
	case len(s.Encrypted) > 0 && !hasSecret:
		return fleet.Invalidf("secret", "a folder is encrypted with a password: name the secret that holds it")
	case len(s.Encrypted) == 0 && hasSecret:
		return fleet.Invalidf("secret", "a secret is for devices that get the folder encrypted: give their tag")
	case hasSecret:
		return text("secret", s.Secret)
	}
	return nil
}

func (v Versioning) validate() error {
	params, known := versioningParams[v.Type]
	if !known {
		return fleet.Invalidf("versioning", "%q is no way of keeping versions: trashcan, simple or staggered", v.Type)
	}
	for name, value := range v.Params {
		if !slices.Contains(params, name) {
			return fleet.Invalidf("versioning", "%s versioning has no parameter %q: %s", v.Type, name,
				strings.Join(params, ", "))
		}
		if !number.MatchString(value) {
			return fleet.Invalidf("versioning", "%s is a whole number, not %q", name, value)
		}
	}
	return nil
}

// text checks what a person filled into one line.
func text(field, value string) error {
	switch {
	case strings.TrimSpace(value) == "":
		return fleet.Invalidf(field, "may not be blank")
	case len(value) > maxText:
		return fleet.Invalidf(field, "has at most %d bytes", maxText)
	case !utf8.ValidString(value):
		return fleet.Invalidf(field, "is UTF-8 text")
	case strings.ContainsFunc(value, unicode.IsControl):
		return fleet.Invalidf(field, "may not hold control characters")
	}
	return nil
}
