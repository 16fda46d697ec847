package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RecentChange is what a person or a program with a token changed: one write, or equal writes of one moment.
type RecentChange struct {
	At    time.Time // time of the newest write
	Since time.Time // time of the oldest write
	Who   string
	Title string // "": nobody gave one
	Parts []ChangePart
	More  bool // there are more equal writes than were counted
	// Generations are those that the writes made, ascending.
	Generations []int64
}

// ChangePart is one kind of act in a change.
type ChangePart struct {
	What    string // What of the audit entries, such as "device.create"
	Count   int    // how many subjects
	Subject string // subject of the newest entry
	Detail  string // detail of the newest entry

	subjects map[string]bool // all of them
}

// sameMoment is the longest time between two equal writes that are shown as one change.
const sameMoment = time.Minute

// ChangeTitle is the What of the audit entry with the title that a person gave to an edit of the fleet.
const ChangeTitle = "fleet.change"

// changesNothing are acts that the audit has and that change neither the fleet nor what Muster keeps.
var changesNothing = map[string]bool{"login": true, "logout": true, "login.fail": true, "request.refused": true,
	"token.refused": true, "device.readKey": true, "device.test": true, "setting.test": true, "order.ended": true}

// ChangeFold makes changes out of audit entries, which come newest first.
type ChangeFold struct {
	most    int
	changes []RecentChange
	kinds   []string     // kind of each change
	write   []AuditEntry // entries of the write that is being read
}

// NewChangeFold makes a fold that gives the newest changes, as many as most.
func NewChangeFold(most int) *ChangeFold { return &ChangeFold{most: most} }

// Add takes the next older entry. It returns false when no older entry can belong to the changes.
func (f *ChangeFold) Add(e AuditEntry) bool {
	if len(f.write) > 0 && (!f.write[0].At.Equal(e.At) || f.write[0].Who != e.Who) {
		f.close()
	}
	if len(f.changes) >= f.most && e.At.Before(f.oldest().Add(-sameMoment)) {
		return false
	}
	if !changesNothing[e.What] && !strings.HasPrefix(e.What, "audit.") {
		f.write = append(f.write, e)
	}
	return true
}

// Changes are those of all entries that were added, the newest first. isCut: there are older entries that were not
// added although they may belong to the oldest changes.
func (f *ChangeFold) Changes(isCut bool) []RecentChange {
	f.close()
	if isCut && len(f.changes) > 0 {
		oldest := f.oldest()
		for i := range f.changes {
			f.changes[i].More = f.changes[i].Since.Equal(oldest)
		}
	}
	return f.changes
}

func (f *ChangeFold) oldest() time.Time {
	return slices.MinFunc(f.changes, func(a, b RecentChange) int { return a.Since.Compare(b.Since) }).Since
}

// close ends the write that is being read: it is one more of an equal change, or a change of its own.
func (f *ChangeFold) close() {
	made := changeOf(f.write)
	f.write = f.write[:0]
	if len(made.Parts) == 0 {
		return
	}
	kind := kindOfChange(made)
	for i, known := range f.kinds {
		change := &f.changes[i]
		if known != kind || change.Since.Sub(made.At) > sameMoment {
			continue
		}
		change.Since = made.Since
		for j := range change.Parts { // Equal kinds have the same parts in the same order.
			change.Parts[j].add(made.Parts[j].subjects)
		}
		return
	}
	if len(f.changes) < f.most {
		f.changes, f.kinds = append(f.changes, made), append(f.kinds, kind)
	}
}

// add counts further subjects. A device that got two tags is one device that was tagged.
func (p *ChangePart) add(subjects map[string]bool) {
	maps.Copy(p.subjects, subjects)
	p.Count = len(p.subjects)
}

// changeOf is the change that the entries of one write make. An edit with a title and nothing besides is a part of its
// own.
func changeOf(write []AuditEntry) (made RecentChange) {
	for _, e := range write {
		made.At, made.Since, made.Who = e.At, e.At, e.Who
		detail, title := cutTitle(e)
		made.Title = cmp.Or(made.Title, title)
		if e.What == ChangeTitle && len(write) > 1 {
			continue
		}
		i := slices.IndexFunc(made.Parts, func(p ChangePart) bool { return p.What == e.What })
		if i < 0 {
			i = len(made.Parts)
			made.Parts = append(made.Parts, ChangePart{What: e.What, Subject: e.Subject, Detail: detail,
				subjects: map[string]bool{}})
		}
		made.Parts[i].add(map[string]bool{e.Subject: true})
	}
	slices.SortStableFunc(made.Parts, func(a, b ChangePart) int { return cmp.Compare(a.What, b.What) })
	return made
}

// cutTitle separates the detail of an entry from the title that a person wrote.
func cutTitle(e AuditEntry) (detail, title string) {
	if e.What == ChangeTitle {
		detail = e.Detail
		if rest, ok := strings.CutPrefix(detail, "generation "); ok {
			if _, title, ok := strings.Cut(rest, ": "); ok {
				return "", title
			}
		}
		return "", detail
	}
	at := strings.LastIndex(e.Detail, `title: "`)
	if at < 0 {
		return e.Detail, ""
	}
	title, err := strconv.Unquote(e.Detail[at+len("title: "):])
	if err != nil {
		return e.Detail, ""
	}
	return strings.TrimSuffix(e.Detail[:at], "; "), title
}

func kindOfChange(c RecentChange) string {
	parts := []string{c.Who, c.Title}
	for _, p := range c.Parts {
		parts = append(parts, p.What)
	}
	return strings.Join(parts, "\x00")
}
