package openapi

import (
	"regexp"

	"github.com/danielgtaylor/huma/v2"
)

// chapter is a group of operations in the document, which is called a tag there.
type chapter struct {
	name, description string
	paths             string // a regular expression of paths below the prefix of the API
}

// chapters are the chapters in the order in which a person reads. A path belongs to the first that has it.
var chapters = []chapter{
	{"Orders to daemons", "Restart, rescan, pause, resume or upgrade daemons, one or those of a tag.",
		`.*/orders/\w+|/orders.*`},
	{"Revisions", "Every configuration that was seen of a device: compare and restore.",
		`/devices/\{deviceID\}/revisions.*`},
	{"Plans and consent", "What Muster would write, why, and what waits for a person.",
		`/plan|/changes|/differences.*|/consents.*|/waiting|/devices/\{deviceID\}/(plan|apply|why)`},
	{"Revocations", "Devices that are out for good.", `/revocations.*|/devices/\{deviceID\}/revoke`},
	{"Devices", "Registered Syncthing daemons: record, state, settings, tags.", `/devices.*|/inventory|/states`},
	{"Templates", "Fragments of configuration, picked for a device by tag.", `/(templates|forms|config-settings).*`},
	{"Tags", "What ties devices and templates together.", `/tags.*`},
	{"Folders", "Syncthing folders across the fleet, and where templates may put them.",
		`/folders.*|/folder-roots|/author-keys|/overview/(folders|matrix|one-sided-shares)`},
	{"Rollouts", "Changes that go out in waves.", `/rollouts.*`},
	{"Fleet as files", "The whole fleet's templates, tags and settings as one document.", `/fleet.*|/sources.*`},
	{"Overview", "The fleet in numbers, with their history.", `/overview.*`},
	{"Events", "What happens, as it happens, and what is kept of it.", `/events.*`},
	{"Pending", "Devices and folders that ask managed daemons to be let in.", `/pending.*`},
	{"Enrolment", "How machines come to be managed.", `/enroll.*`},
	{"Sinks", "Places outside that get what Muster records.", `/sinks.*`},
	{"Secrets", "Values that templates may use and nobody reads.", `/secrets.*`},
	{"Audit", "Who did what, and whether the record is whole.", `/audit.*`},
	{"Notifications", "Who is told of which problems: channels, routes and silences.", `/(channels|routes|silences).*`},
	{"Access", "Tokens, users, log-in and sessions.", `/(tokens|users|sessions|tickets|login|logout|password|whoami)\b.*`},
	{"Server", "Version, settings, modes and stops, the seal key, a demo, health, metrics, and the OpenAPI document.",
		`/(version|settings|configurator|stops|seal|demo)\b.*|/openapi\.json|/healthz|/readyz|/metrics`},
}

var chapterPaths = func() []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, tag := range chapters {
		all = append(all, regexp.MustCompile("^("+tag.paths+")$"))
	}
	return all
}()

// chapterOf is the chapter of a path below the prefix, and nothing where no chapter has it: a test and the linters of
// the document say so.
func chapterOf(path string) []string {
	for i, has := range chapterPaths {
		if has.MatchString(path) {
			return []string{chapters[i].name}
		}
	}
	return nil
}

func tags() []*huma.Tag {
	var all []*huma.Tag
	for _, tag := range chapters {
		all = append(all, &huma.Tag{Name: tag.name, Description: tag.description})
	}
	return all
}
