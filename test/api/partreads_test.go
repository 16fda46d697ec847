package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/reads"
	"muster/test/server"
	"muster/test/wait"
)

// theirs begins the name of everything that only devices outside have: labels, tags, vars, folders, paths, texts. The
// API's own texts have no such word.
const theirs = "outland-"

// rolesOfPart are the roles of tokens that may be for a part of the fleet.
var rolesOfPart = []fleet.Role{fleet.RoleViewer, fleet.RoleOperator}

// newRich is a fleet in which devices outside have something of each kind that an answer could show.
func newRich(t *testing.T) *parted {
	t.Helper()
	p := partedWith(t, server.Options{Waves: "rest", Soak: 100 * time.Millisecond, TroubleAfter: time.Millisecond},
		12, "on", func(i int) bool { return i < 5 }) // Each three share; of the second three one is outside.
	for i, id := range p.outside {
		p.labels[id] = fmt.Sprintf("%smachine-%02d", theirs, i)
		d := p.daemon(id)
		p.mustDo(http.MethodPut, "devices/"+string(id), fmt.Sprintf(
			`{"apiKey":%q,"apiAddress":%q,"apiPort":%d,"label":%q}`, d.APIKey(), d.Host(), d.Port(), p.labels[id]))
		p.mustDo(http.MethodPut, "devices/"+string(id)+"/tags/"+theirs+"tag", "")
		p.mustDo(http.MethodPut, "devices/"+string(id)+"/vars", `{"vars":{"own":"outland-own-value"}}`)
		d.AddPendingFolder(theirs+"pending", theirs+"offer", p.inside[0])
	}
	p.mustDo(http.MethodPut, "tags/"+theirs+"tag/vars", `{"vars":{"outland_var":"outland-value"}}`)
	p.templates = append(
		p.templates,
		p.Template(
			"merge",
			"folders.outland-folder",
			`{"path": "~/outland-path", "label": "outland-folder-label"}`,
			theirs+"tag",
		),
		p.Template("set", "options.localAnnouncePort", "21029 # outland-text", theirs+"tag"),
		p.Template("set", "options.natEnabled", "false", insideTag, theirs+"tag"),
	)
	passing := p.Template("merge", "folders.outland-passing", `{"path": "~/outland-passing-path"}`, theirs+"tag")
	wait.Until(t, func() string {
		for _, id := range p.outside {
			if folders := p.daemon(id).FolderIDs(); !slices.Contains(folders, "outland-passing") ||
				!slices.Contains(folders, "outland-folder") {
				return fmt.Sprintf("%s has %v", p.labels[id], folders)
			}
		}
		return ""
	})
	if err := p.Client.DeleteTemplate(t.Context(), passing); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "a removal waits on each device outside", func() bool { return len(p.waitingOutside()) == len(p.outside) })
	p.troubleOutside()
	return p
}

// troubleOutside has devices outside in each kind of trouble that a person is told of, and one of them revoked.
func (p *parted) troubleOutside() {
	p.t.Helper()
	troubled, changes := p.daemon(p.outside[0]), p.waitingOutside()
	if err := troubled.StopFolder("outland-folder", stsim.MarkerMissing); err != nil {
		p.t.Fatal(err)
	}
	if _, err := troubled.Conflict("outland-folder", "outland-file.txt"); err != nil {
		p.t.Fatal(err)
	}
	p.mustDo(http.MethodPost, "tags/"+theirs+"tag/orders/rescan", "")
	p.mustDo(http.MethodPut, "tags/"+theirs+"tag/settings", `{"mode":"observe"}`)
	kept := string(p.outside[1])
	_, digest := p.waiting()
	p.mustDo(http.MethodPost, "consents", fmt.Sprintf(
		`{"digest":%q,"answer":"keep","shown":[{"deviceID":%q,"digest":%q}]}`, digest, kept, changes[kept]))
	p.mustDo(http.MethodPost, "devices/"+string(p.outside[6])+"/revoke", `{"reason":"outland-reason"}`)
	wait.Until(p.t, func() string {
		waiting, err := p.Client.Waiting(p.t.Context(), "")
		if err != nil {
			return err.Error()
		}
		for _, g := range waiting.Groups {
			if g.Cause == string(fleet.WaitFolderStopped) {
				return ""
			}
		}
		return "no stopped folder waits for a person"
	})
}

// daemon is the daemon of a device.
func (p *parted) daemon(id fleet.DeviceID) *stsim.Daemon {
	daemons := p.farm.Daemons()
	return daemons[slices.IndexFunc(daemons, func(d *stsim.Daemon) bool { return d.ID() == id })]
}

// readsAsPart reads an answer as a caller of the part, and checks that it names nothing outside.
func (p *parted) readsAsPart(token, path string) (status int) {
	p.t.Helper()
	status, text := p.do(token, http.MethodGet, path, "")
	p.namesNothingOutside(path, text)
	return status
}

// namesNothingOutside checks an answer. What was asked for is repeated in errors, and is known to who asked.
func (p *parted) namesNothingOutside(path, text string) {
	p.t.Helper()
	asked, err := url.PathUnescape(path)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, part := range strings.FieldsFunc(asked, func(r rune) bool { return strings.ContainsRune("/?&=", r) }) {
		if strings.Contains(part, theirs) || slices.Contains(p.outside, fleet.DeviceID(part)) {
			text = strings.ReplaceAll(text, part, "")
		}
	}
	peers := showsPeers.MatchString(path) && !strings.Contains(path, theirs)
	for _, id := range p.outside {
		if peers {
			text = strings.ReplaceAll(text, p.labels[id], "")
		} else {
			host := regexp.MustCompile(`\b` + regexp.QuoteMeta(p.daemon(id).Host()) + `\b`)
			if strings.Contains(text, id.Short()) || host.MatchString(text) {
				p.t.Errorf("%s names %s: %.2000s", path, p.labels[id], text)
			}
		}
	}
	if at := strings.Index(text, "outland"); at >= 0 {
		p.t.Errorf("%s names what only devices outside have: %s", path, text[max(0, at-300):min(len(text), at+100)])
	}
}

// Operators of a part only were tried, and not what a query asks for. Each answer is read by each role that may be for
// a part, with each value of each query that names something outside.
func TestNoAnswerToACallerOfAPartNamesWhatIsOutside(t *testing.T) {
	t.Parallel()
	p := newRich(t)
	values, queries := p.everything(), map[string][]string{"device": {string(p.outside[0])}, "tag": {theirs + "tag"},
		"q": {"outland"}, "folder": {theirs + "folder"}, "subject": {theirs + "tag"}, "limit": {"1"}, "after": {"1"}}
	waiting, err := p.Client.Waiting(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range waiting.Groups {
		queries["group"] = append(queries["group"], g.ID)
	}
	for _, role := range rolesOfPart {
		token, answered := p.tokenOfPart(role), 0
		for _, path := range reads.Queries(t, values, queries) {
			status := p.readsAsPart(token, path)
			if status == http.StatusOK {
				answered++
			}
			for _, id := range p.outside {
				if strings.Contains(path, "devices/"+string(id)) && status != http.StatusNotFound {
					t.Errorf("%s as %s: got %d", path, role, status)
				}
			}
		}
		if answered < 150 {
			t.Errorf("only %d answers were read as %s", answered, role)
		}
	}
}

// everything has the values of all parameters of paths, inside and outside.
func (p *parted) everything() map[string][]string {
	p.t.Helper()
	values := map[string][]string{"number": {"1"}, "other": {"2"}, "generation": {"1"}, "user": {"nobody"},
		"path": {"a.txt"}, "key": {"options.natEnabled", "folders.outland-folder"}, "orderID": {"1"},
		"setting": {"soak"}, "channel": {"chat"}, "sink": {"siem"},
		"rolloutID": {"1", "2", "3", "4", "5"}, "tag": {insideTag, theirs + "tag"}}
	p.addRegistered(values)
	return values
}

// addRegistered adds the IDs of all devices, templates and folders, inside and outside, to values of parameters of
// paths.
func (p *parted) addRegistered(values map[string][]string) {
	p.t.Helper()
	for id := range p.labels {
		values["deviceID"] = append(values["deviceID"], string(id))
	}
	for _, id := range p.templates {
		values["templateID"] = append(values["templateID"], fmt.Sprint(id))
	}
	folders, err := p.Client.Folders(p.t.Context(), client.List{})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range folders {
		values["folderID"] = append(values["folderID"], f.Folder)
	}
}

// No test read the stream of events as a caller of a part.
func TestNoStreamOfACallerOfAPartNamesWhatIsOutside(t *testing.T) {
	t.Parallel()
	p := newRich(t)
	for i, role := range rolesOfPart {
		token := p.tokenOfPart(role)
		streams := map[string]*bufio.Scanner{}
		for _, path := range []string{"events", "events?after=0", "events?device=" + string(p.outside[0]) + "&device=" +
			string(p.inside[0]), "events?tag=" + theirs + "tag&tag=" + insideTag} {
			streams[path] = p.stream(token, path)
		}
		outside := "devices/" + string(p.outside[i])
		p.mustDo(http.MethodPut, outside+"/tags/"+theirs+"more", "")
		p.mustDo(http.MethodPut, outside+"/vars", `{"vars":{"own":"outland-next-value"}}`)
		p.Template("set", "options.localAnnouncePort", fmt.Sprintf("2103%d # outland-text", i), theirs+"more")
		p.daemon(p.outside[i+2]).Stop()
		p.WaitConnection(p.outside[i+2], fleet.Unreachable)
		last := fmt.Sprint("ours-last-", i)
		d := p.daemon(p.inside[0])
		p.mustDo(http.MethodPut, "devices/"+string(d.ID()), fmt.Sprintf(
			`{"apiKey":%q,"apiAddress":%q,"apiPort":%d,"label":%q}`, d.APIKey(), d.Host(), d.Port(), last))
		for path, lines := range streams {
			text := ""
			for lines.Scan() {
				text += lines.Text() + "\n"
				if strings.Contains(lines.Text(), last) {
					break
				}
			}
			if !strings.Contains(text, last) {
				t.Errorf("%s as %s ended with %v", path, role, lines.Err())
			}
			p.namesNothingOutside(path, text)
		}
	}
}

// stream begins to read a stream. The test's end closes it.
func (p *parted) stream(token, path string) *bufio.Scanner {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/api/v1/"+path, http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		cancel()
		_ = answer.Body.Close()
	})
	if answer.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: got %d", path, answer.StatusCode)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return lines
}

// A download of a browser has a ticket in the place of a credential. It shows what its owner may see.
func TestNoDownloadOfACallerOfAPartNamesWhatIsOutside(t *testing.T) {
	t.Parallel()
	p := newRich(t)
	for _, role := range rolesOfPart {
		browser, read := p.browser(role), 0
		for _, path := range reads.Paths(t, p.everything()) {
			var ticket api.Ticket
			status, text := browser.sends(http.MethodPost, "/api/v1/tickets", map[string]any{"path": path})
			if !strings.HasPrefix(path, "/api/v1/") {
				continue // A ticket is for the API.
			}
			if err := json.Unmarshal([]byte(text), &ticket); err != nil || ticket.Path == "" {
				t.Fatalf("no ticket for %s as %s: %d %s", path, role, status, text)
			}
			status, text = (&browserOfPart{parted: p}).sends(http.MethodGet, ticket.Path, nil)
			p.namesNothingOutside(path, text)
			if status == http.StatusOK {
				read++
			}
		}
		if read < 50 {
			t.Errorf("only %d downloads were read as %s", read, role)
		}
	}
}

// browserOfPart is a browser in which a user of the part has logged in; without a half nobody has.
type browserOfPart struct {
	*parted
	http.Client
	half string
}

// browser makes a user with this role for the devices inside, and logs in as a page does.
func (p *parted) browser(role fleet.Role) *browserOfPart {
	p.t.Helper()
	const password = "correct horse battery"
	name, text, secret, tags := "user-"+string(role), string(role), password, []string{insideTag}
	if _, err := p.Client.CreateUser(p.t.Context(), api.CreateUser{Name: &name, Role: &text, Tags: &tags,
		Password: &secret}); err != nil {
		p.t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	b := &browserOfPart{parted: p, Client: http.Client{Jar: jar}}
	status, answer := b.sends(http.MethodPost, "/api/v1/login",
		map[string]any{"userid": name, "password": password, "browser": true})
	var session api.NewSession
	if err := json.Unmarshal([]byte(answer), &session); err != nil || session.Half == "" {
		p.t.Fatalf("%s cannot log in: %d %s", name, status, answer)
	}
	b.half = session.Half
	return b
}

// sends sends a request of the browser.
func (b *browserOfPart) sends(method, path string, body map[string]any) (status int, text string) {
	b.t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.URL+path, bytes.NewReader(sent))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if b.half != "" {
		r.Header.Set(auth.SessionHeader, b.half)
	}
	answer, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	content, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, string(content)
}

// A token of an author is never for a part, since it could read every template.
func TestNoAuthorIsForAPartOfTheFleet(t *testing.T) {
	t.Parallel()
	s, _ := quiet(t)
	for _, role := range []fleet.Role{fleet.RoleAuthor, fleet.RoleAdmin} {
		name, text, tags := "part", string(role), []string{insideTag}
		_, err := s.Client.CreateTokenWith(t.Context(), api.CreateToken{Name: &name, Role: &text, Tags: &tags})
		wantCode(t, err, fleet.CodeInvalid)
	}
}
