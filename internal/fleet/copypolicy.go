package fleet

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// CopyPolicy says on how many devices the data of a folder has to be proven to be.
type CopyPolicy struct {
	Folder  string // ID of the folder; "": all folders of the devices with Tag
	Tag     Tag
	AtLeast int // devices, the one whose data it is included; with Across, different tags of these devices
	// Across is a tag, or the beginning of tags before a star: copies count once for each such tag. "": every device
	// counts.
	Across string
	Within time.Duration // how long it may take until what was scanned is proven to be elsewhere
	// By is the time of the day at which nothing may be unproven any more, however new, as "07:00" by the clock of the
	// server; "": none.
	By string
}

// CopyShortage is what a policy misses: the data of a device is proven to be on too few devices.
type CopyShortage struct {
	Policy CopyPolicy
	Counts int       // Counts is what the devices count that have the data, the device itself included.
	Since  time.Time // Too few devices are known to have it since then.
}

// Reason says for people what is missing.
func (s CopyShortage) Reason() string {
	what := NumberText(s.Policy.AtLeast) + " devices"
	if s.Policy.Across != "" {
		what = NumberText(s.Policy.AtLeast) + " of the tags " + s.Policy.Across
	}
	return fmt.Sprintf("what this device has is proven to be on %s of %s that the policy %q asks for",
		NumberText(s.Counts), what, s.Policy)
}

// defaultWithin is how long a proof may take where the policy does not say.
const defaultWithin = 15 * time.Minute

const (
	folderTarget = "folder:"
	tagTarget    = "tag:"

	minWithin, maxWithin = 5 * time.Minute, 720 * time.Hour
	maxCopies            = 100
	maxCopyPolicies      = 50
)

// ParseCopyPolicies reads policies with semicolons between them.
func ParseCopyPolicies(text string) (policies []CopyPolicy, err error) {
	for one := range strings.SplitSeq(text, ";") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		policy, err := parseCopyPolicy(one)
		if err != nil {
			return nil, err
		}
		policies = append(policies, policy)
	}
	if len(policies) > maxCopyPolicies {
		return nil, wrongValue("%d policies are too many: give at most %d, and name tags instead of folders",
			len(policies), maxCopyPolicies)
	}
	return policies, nil
}

// parseCopyPolicy reads "photos=2 across site:* within 15m by 07:00".
func parseCopyPolicy(text string) (p CopyPolicy, err error) {
	target, rest, found := cutLast(text, "=")
	words := strings.Fields(rest)
	if !found || len(words) == 0 || len(words)%2 == 0 {
		return p, wrongValue("%q is no policy: write FOLDER=2 or tag:TAG=2, then across TAG, within 15m and by 07:00 "+
			"as needed", text)
	}
	if err := p.parseTarget(strings.TrimSpace(target)); err != nil {
		return p, err
	}
	if p.AtLeast, err = strconv.Atoi(words[0]); err != nil || p.AtLeast < 2 || p.AtLeast > maxCopies {
		return p, wrongValue("%q is no number of copies: give 2 to %d, the device's own copy included", words[0], maxCopies)
	}
	p.Within = defaultWithin
	for i := 1; i < len(words); i += 2 {
		if err := p.parseLimit(words[i], words[i+1]); err != nil {
			return p, err
		}
	}
	return p, nil
}

// cutLast is strings.Cut at the last separator: a folder's ID may have one, too.
func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

func (p *CopyPolicy) parseTarget(text string) (err error) {
	if tag, isTag := strings.CutPrefix(text, tagTarget); isTag {
		p.Tag, err = ParseTag(tag)
		return err
	}
	if p.Folder = strings.TrimPrefix(text, folderTarget); p.Folder == "" {
		return wrongValue("a policy names no folder: write its ID, or tag: and a tag, before the =")
	}
	return nil
}

func (p *CopyPolicy) parseLimit(word, value string) (err error) {
	switch word {
	case "across":
		if strings.TrimSuffix(value, "*") == "" {
			return wrongValue("%q are all tags: give the beginning of tags before the star, as site:*", value)
		}
		p.Across = value
	case "within":
		if p.Within, err = ParseDays(value); err != nil || p.Within < minWithin || p.Within > maxWithin {
			return wrongValue("%q is no time for a proof: give %s to %s", value, DurationText(minWithin),
				DurationText(maxWithin))
		}
	case "by":
		at, err := time.Parse("15:04", value)
		if err != nil {
			return wrongValue("%q is no time of the day: give one like 07:00", value)
		}
		p.By = at.Format("15:04")
	default:
		return wrongValue("%q is unknown: a policy has across, within and by", word)
	}
	return nil
}

// String returns the policy as it is written.
func (p CopyPolicy) String() string {
	text := fmt.Sprintf("%s=%d", p.Target(), p.AtLeast)
	if p.Across != "" {
		text += " across " + p.Across
	}
	text += " within " + DurationText(cmp.Or(p.Within, defaultWithin))
	if p.By != "" {
		text += " by " + p.By
	}
	return text
}

// Target names what the policy is about.
func (p CopyPolicy) Target() string {
	if p.Tag != "" {
		return tagTarget + string(p.Tag)
	}
	return folderTarget + p.Folder
}

func parseCopies(text string) (string, error) {
	policies, err := ParseCopyPolicies(text)
	if err != nil {
		return "", err
	}
	texts := make([]string, len(policies))
	for i, policy := range policies {
		texts[i] = policy.String()
	}
	return parseLine(strings.Join(texts, "; "))
}

// CopyPolicies returns the value of a setting that is a list of policies.
func (s SettingState) CopyPolicies() []CopyPolicy {
	policies, _ := ParseCopyPolicies(s.Value)
	return policies
}

// Counts returns how much these devices count: their number, or that of the different tags that they have of those
// that the policy names.
func (p CopyPolicy) Counts(devices []DeviceID, tagsOf func(DeviceID) []Tag) int {
	if p.Across == "" {
		return len(devices)
	}
	prefix, isPrefix := strings.CutSuffix(p.Across, "*")
	met := map[Tag]bool{}
	for _, id := range devices {
		for _, tag := range tagsOf(id) {
			if string(tag) == p.Across || isPrefix && strings.HasPrefix(string(tag), prefix) {
				met[tag] = true
			}
		}
	}
	return len(met)
}

// IsLate reports whether what has been unproven since a time may not be so any more.
func (p CopyPolicy) IsLate(since, now time.Time) bool {
	if now.Sub(since) >= cmp.Or(p.Within, defaultWithin) {
		return true
	}
	by, err := time.Parse("15:04", p.By)
	if err != nil {
		return false
	}
	at := time.Date(now.Year(), now.Month(), now.Day(), by.Hour(), by.Minute(), 0, 0, now.Location())
	return since.Before(at) && !now.Before(at)
}
