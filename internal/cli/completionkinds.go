package cli

import (
	"cmp"
	"strconv"

	"muster/api"
	"muster/client"
)

// lookups are the kinds of values that the server knows.
var lookups = map[string]lookup{
	"DEVICE": listed(whole((*client.Client).Devices), func(d api.Device) candidate {
		return candidate{cmp.Or(d.Label, d.DeviceID), d.DeviceID}
	}),
	"TAG": listed(whole((*client.Client).Tags), func(tag string) candidate { return candidate{word: tag} }),
	"TEMPLATE": listed(whole((*client.Client).Templates), func(t api.Template) candidate {
		return candidate{cmp.Or(t.Label, strconv.FormatInt(t.ID, 10)), t.Op + " " + t.Key}
	}),
	"FOLDER": listed(whole((*client.Client).Folders), func(f api.Folder) candidate {
		return candidate{f.Folder, f.Label}
	}),
	"ROLLOUT": listed(whole((*client.Client).Rollouts), func(r api.Rollout) candidate {
		return numbered(r.ID, r.Status+",", r.Cause)
	}),
	"ORDER": listed(whole((*client.Client).Actions), func(r api.ActionRun) candidate {
		return numbered(r.ID, r.Action, r.Status)
	}),
	"PENDING": listed(whole((*client.Client).Pending), func(p api.Pending) candidate {
		return candidate{p.ID, p.Kind + " " + cmp.Or(p.Name, p.Folder)}
	}),
	"ENROLLMENT": listed(whole((*client.Client).Enrollments), func(e api.Enrollment) candidate {
		return candidate{e.DeviceID, e.State + " " + e.Name}
	}),
	"HELD": listed((*client.Client).Consents, func(g api.HeldGroup) candidate {
		return candidate{g.Digest[:min(shortDigest, len(g.Digest))], g.Key}
	}),
	"SECRET": listed((*client.Client).Secrets, func(s api.Secret) candidate { return candidate{s.Name, scopeOf(s)} }),
	"USER":   listed((*client.Client).Users, func(u api.User) candidate { return candidate{u.Name, u.Role} }),
	"TOKEN":  listed((*client.Client).Tokens, func(t api.Token) candidate { return candidate{t.Name, t.Role} }),
	"SESSION": listed((*client.Client).Sessions, func(s api.Session) candidate {
		return candidate{s.ID, s.User + " " + s.Client}
	}),
	"ENROLL-KEY": listed((*client.Client).EnrollKeys, func(k api.EnrollKey) candidate {
		return candidate{k.ID, keyStates[k.State]}
	}),
	"SOURCE": sources,
}
