import { IconCode, IconFolder, IconForms } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { queries } from "../../api/queries";
import { Loads, Page } from "../../ui/page";

/** Wishes are the forms, by what a person wants, and the editor for everything else. */
export default function Wishes() {
  const forms = useQuery(queries.forms());
  return (
    <Page
      title="What do you want?"
      crumb={{ href: "/templates", text: "Templates" }}
      sub={<span>Each of these is a form that writes a template. You see what it does to every device before you save.</span>}
    >
      <Loads query={forms}>
        {(kinds) => (
          <ul className="u-cards">
            <Card href="/templates/share" title="Share a folder" icon={<IconFolder size={18} stroke={1.5} aria-hidden />}>
              Devices with a tag get a folder, each in its role, and share it.
            </Card>
            {kinds.map(({ name, title, help }) => (
              <Card key={name} href={`/templates/forms/${name}`} title={title} icon={<IconForms size={18} stroke={1.5} aria-hidden />}>
                {help}
              </Card>
            ))}
            <Card href="/templates/new" title="Something else" icon={<IconCode size={18} stroke={1.5} aria-hidden />}>
              Write the template as text: values in HJSON, or a program.
            </Card>
          </ul>
        )}
      </Loads>
    </Page>
  );
}

function Card({ href, title, icon, children }: { href: string; title: string; icon: ReactNode; children: ReactNode }) {
  return (
    <li>
      <Link href={href} className="u-card">
        <span className="u-card-title">
          {icon}
          {title}
        </span>
        <span className="u-muted">{children}</span>
      </Link>
    </li>
  );
}
