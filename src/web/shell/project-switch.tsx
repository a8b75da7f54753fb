/** The current project, and the way to another. */
import type { VNode } from 'preact'
import { useLocation } from 'wouter-preact'
import { Combobox, type ComboOption } from '../parts/fields/combobox.tsx'
import { Popover } from '../parts/overlays/popover.tsx'
import { useProject } from '../state/project.tsx'
import type { Session } from '../state/session.ts'

export type LoggedIn = Extract<Session, { state: 'in' }>

/** The projects as options, in groups by organization when there are several. */
export function projectOptions({ projects, organizations }: LoggedIn): readonly ComboOption[] {
  const names = new Map(organizations.map(({ id, name }) => [id, name]))
  const has_several = new Set(projects.map(({ organization }) => organization)).size > 1
  return projects
    .map(({ id, name, organization }) => {
      const group = names.get(organization) ?? 'Other'
      return { value: String(id), text: name, ...(has_several && { group }) }
    })
    .toSorted((one, other) => (one.group ?? '').localeCompare(other.group ?? ''))
}

/** The address of the same page in another project, without its filters, which may name objects of this project. */
export function inProject(id: number | string, path: string): string {
  return `~/p/${id}/${path.split('/')[1] ?? ''}`
}

/** A button with the project's name; its list leads to the same page of another project. */
export function ProjectSwitch({ session }: { readonly session: LoggedIn }): VNode {
  const project = useProject()
  const [path, navigate] = useLocation()
  return (
    <Popover label="Project" text={project.name} look="quiet">
      {(close) => (
        <Combobox
          label="Project"
          placeholder="Search projects"
          options={projectOptions(session)}
          chosen={[String(project.id)]}
          onPick={({ value }) => {
            close()
            navigate(inProject(value, path))
          }}
        />
      )}
    </Popover>
  )
}
