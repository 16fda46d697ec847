package contract

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"muster/internal/core/stconfig"
)

// patterns compare what Muster says of ignore patterns with what the daemon says: a pattern that it cannot read stops
// the folder. `make soak` makes up many more.
var patterns = []Check{
	{"ignore patterns that cannot be read are the ones that Muster refuses", Writes, func(p *Probe) {
		p.MustDo("PUT", "/rest/config/folders", fmt.Sprintf(`[{"id":"ignoring","path":%q,"paused":true}]`,
			p.Folder("ignoring")))
		const seed1, seed2 = 10, 4711
		random := rand.New(rand.NewPCG(seed1, seed2))
		all := strings.Split(corpus, "\n")
		count := 150
		switch {
		case os.Getenv("MUSTER_SOAK") != "":
			count = 3000
		case testing.Short():
			count = 10
		}
		for range count {
			all = append(all, madeUp(random))
		}
		bad := 0
		for _, line := range all {
			body := stconfig.Obj(stconfig.Member{Name: "ignore", Value: stconfig.List(stconfig.Text(line))})
			said := p.MustDo("POST", "/rest/db/ignores?folder=ignoring", string(body.JSON()))
			answer, err := stconfig.Parse([]byte(said))
			if err != nil {
				p.Fatal(err)
			}
			theirs, ours := answer.Get("error").Str(), stconfig.CheckIgnoreLine(line, "linux")
			if (theirs == "") != (ours == "") {
				p.Errorf("%q: the daemon says %q, Muster %q", line, theirs, ours)
			}
			if theirs != "" {
				bad++
			}
		}
		p.Logf("%d of %d patterns cannot be read", bad, len(all))
	}},
	{"a pattern that cannot be read stops the folder", Writes, func(p *Probe) {
		p.MustDo("PUT", "/rest/config/folders", fmt.Sprintf(`[{"id":"stopped","path":%q}]`, p.Folder("stopped")))
		p.state("/rest/db/status?folder=stopped", "idle")
		for _, line := range []string{"[unclosed", "#include nothing"} {
			p.MustDo("POST", "/rest/db/ignores?folder=stopped", `{"ignore":["`+line+`"]}`)
			p.state("/rest/db/status?folder=stopped", "error")
			if got := p.Get("/rest/db/ignores?folder=stopped").Get("error").Str(); got == "" {
				p.Errorf("%s: no error is told", line)
			}
			p.MustDo("POST", "/rest/db/ignores?folder=stopped", `{"ignore":[]}`)
			p.state("/rest/db/status?folder=stopped", "idle")
		}
	}},
}

// corpus are patterns that people write, well and badly.
const corpus = `*.tmp
/rooted
(?i)*.JPG
(?d)(?i)!keep
!(?d)x
(?i)(?i)x
(?i)
!
(?d)
//comment [
[unclosed
a[b
[]
[!]
[!a]
[^a]
[]a]
[a-z]
[a-z0-9]
[z-a]
[a-]
[-a]
[!a-z]
[abc-z]
(?i)[Z-a]
[Z-a]
\[a
[a\]
[a\]]
[\]
\
a\
{a,b}
{a
a}
{}
{,}
{a,{b,c}}
{[a,b}
{a,[b]}
#include
#includefile
#other
**
***
**/
/
//
?
[?]
[*]
a,b
(?r)x
[a-b-c]
[ä-ü]
[ü-ä]
dir/
dir/**
**/deep/*
%*?!`

// madeUp is a line of characters that mean something to the daemon, and some that do not.
func madeUp(random *rand.Rand) string {
	pieces := []string{"[", "]", "[", "]", "{", "}", ",", "!", "-", `\`, "*", "?", "/", "a", "b", "Z", "(?i)", "^", "é",
		"0"}
	var line strings.Builder
	for range 1 + random.IntN(9) {
		line.WriteString(pieces[random.IntN(len(pieces))])
	}
	return line.String()
}
