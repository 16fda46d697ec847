package cli

import (
	"context"
	"fmt"
	"regexp"

	"muster/api"
	"muster/client"
)

// secretUse is who needs a secret.
type secretUse struct {
	templates int
	devices   int // to which one of the templates applies
}

// usesOf finds the templates that name a secret, and the devices to which they apply. A name that a program puts
// together is not found.
func usesOf(ctx context.Context, server *client.Client, name string) (use secretUse, err error) {
	quoted := regexp.QuoteMeta(name)
	named := regexp.MustCompile(`\$\{secret:` + quoted + `\}|\bsecret\(\s*["']` + quoted + `["']\s*\)`)
	templates, err := server.Templates(ctx, client.List{})
	if err != nil {
		return use, err
	}
	tags, devices := map[string]bool{}, map[string]bool{}
	for _, template := range templates {
		if !named.MatchString(template.Template) {
			continue
		}
		use.templates++
		all, err := server.TemplateTags(ctx, template.ID)
		if err != nil {
			return use, err
		}
		for _, tag := range all {
			tags[tag] = true
		}
	}
	for tag := range tags {
		carriers, err := server.TagDevices(ctx, tag, client.List{})
		if err != nil {
			return use, err
		}
		for _, device := range carriers {
			devices[device.DeviceID] = true
		}
	}
	use.devices = len(devices)
	return use, nil
}

// text says what becomes of those who need the secret when it is gone.
func (u secretUse) text() string {
	if u.templates == 0 {
		return "No template names it."
	}
	return fmt.Sprintf("%s it, for %s: nothing more is sent to them until it is put again or the templates are changed.",
		plural(u.templates, "template names", "templates name"), counted(u.devices, "device"))
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// narrowed says which lists of a secret are replaced.
func narrowed(s api.Secret) string {
	return fmt.Sprintf("Replace what the secret %q is for? It is for %s.", printable(s.Name), printable(scopeOf(s)))
}
