package form

import "strings"

// shareHeader is the first line of each text of this form.
const shareHeader = `# Written by the form "Share a folder". What is changed by hand is edited as text from then on.` + "\n"

// text is the program: what was filled in, as constants, and below it only what these need.
func (s Share) text() string {
	var b strings.Builder
	b.WriteString(shareHeader)
	writeConstants(&b, s.constants())
	b.WriteString("\nROLES = [")
	separator := ""
	for _, role := range s.roles() {
		if len(*role.tags) > 0 {
			b.WriteString(separator + `("` + role.kind + `", ` + role.constant + ")")
			separator = ", "
		}
	}
	b.WriteString("]\n" + rolesPart)
	b.WriteString(s.pathPart())
	if len(s.Encrypted) > 0 {
		b.WriteString(encryptedPeerPart)
	} else {
		b.WriteString(peerPart)
	}
	b.WriteString(templatePart)
	if len(s.Hubs) > 0 {
		b.WriteString(hubsPart)
	}
	b.WriteString(folderPart)
	if s.Versioning != nil {
		b.WriteString("    folder[\"versioning\"] = VERSIONING\n")
	}
	if s.KeepFreePercent > 0 {
		b.WriteString("    folder[\"minDiskFree\"] = {\"value\": KEEP_FREE_PERCENT, \"unit\": \"%\"}\n")
	}
	b.WriteString(s.returnPart())
	return b.String()
}

const rolesPart = `
# The role of every device that has the folder, by device ID. The first role of a device counts.
def roles():
    found = {}
    for role, tags in ROLES:
        for tag in tags:
            for d in devices(tag = tag):
                found.setdefault(d.deviceID, role)
    return found
`

func (s Share) pathPart() string {
	var b strings.Builder
	b.WriteString("\ndef path_of(device):\n")
	if _, hasOther := s.Paths[""]; len(s.Paths) == 1 && hasOther {
		b.WriteString("    path = PATHS[\"\"]\n")
	} else {
		b.WriteString(`    if device.os == "":
        fail("this device was never seen: its system is not known")
    path = PATHS.get(device.os, PATHS.get("", ""))
    if path == "":
        fail("the form has no path for " + device.os)
`)
	}
	if vars := s.vars(); len(vars) > 0 {
		b.WriteString("    values = {name: str(device.vars[name]) for name in " + asJSON(vars) +
			" if \"{\" + name + \"}\" in path}\n    return path.format(**values)\n")
	} else {
		b.WriteString("    return path\n")
	}
	return b.String()
}

const peerPart = `
def peer(id, role, own):
    return {"deviceID": id}
`

const encryptedPeerPart = `
def peer(id, role, own):
    if role == "receiveencrypted" and own != "receiveencrypted":
        return {"deviceID": id, "encryptionPassword": secret(SECRET)}
    return {"deviceID": id}
`

const templatePart = `
def template(device):
    members = roles()
    own = members.get(device.deviceID)
    if own == None:
        fail("this device has no tag that the form gives a role")
    peers = sorted(members)
`

const hubsPart = `    hubs = [d.deviceID for tag in HUBS for d in devices(tag = tag)]
    if device.deviceID not in hubs:
        peers = [id for id in peers if id in hubs or id == device.deviceID]
`

const folderPart = `    folder = {
        "label": LABEL,
        "path": path_of(device),
        "type": own,
        "devices": [peer(id, members[id], own) for id in peers],
    }
`

func (s Share) returnPart() string {
	if len(s.Ignores) == 0 {
		return "    return folder\n"
	}
	text := "    folder[\"id\"] = FOLDER\n"
	if len(s.Encrypted) > 0 {
		text += "    if own == \"receiveencrypted\": # the names of its files are encrypted\n" +
			"        return {\"folders\": [folder]}\n"
	}
	return text + "    return {\"folders\": [folder], \"ignores\": {FOLDER: IGNORES}}\n"
}
