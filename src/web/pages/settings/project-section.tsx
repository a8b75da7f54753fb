/** The project's name, time zone, first day of the week and token; further projects; the organization's name. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { changeProject, renameOrganization } from '../../api/settings.ts'
import { createProject } from '../../api/start.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useProject } from '../../state/project.tsx'
import { refreshSession } from '../../state/session.ts'
import { useOrganization } from './organization.ts'
import style from './settings.module.css'

const ZONES = Intl.supportedValuesOf('timeZone')
const DAYS = [
  { value: '0', text: 'Sunday' },
  { value: '1', text: 'Monday' },
] as const

/** Draws the section. */
export function ProjectSection(): VNode {
  const { id, api_token } = useProject()
  return (
    <div class={style.cards}>
      <ProjectForm key={id} />
      <section class={style.card} aria-labelledby="token">
        <h2 id="token">Sending events</h2>
        <p class={style.hint}>SDKs send with this token. It is public and cannot read anything.</p>
        <p class={style.secret}>
          <code>{api_token}</code>
          <CopyButton text={api_token} label="Copy token" />
        </p>
      </section>
      <OrganizationForm />
      <NewProjectForm />
    </div>
  )
}

function ProjectForm(): VNode {
  const project = useProject()
  const [name, setName] = useState(project.name)
  const [timezone, setTimezone] = useState(project.timezone)
  const [week_start, setWeekStart] = useState(String(project.week_start_day ?? 0))
  // The server may know a zone that this browser does not.
  const zones = ZONES.includes(timezone) ? ZONES : [timezone, ...ZONES]
  const save = async (): Promise<void> => {
    await changeProject(project.id, { name, timezone, week_start_day: Number(week_start) })
    showToast({ text: 'Project saved' })
  }
  return (
    <section class={style.card} aria-labelledby="project">
      <h2 id="project">Project {project.id}</h2>
      <Form action="Save" fields={['name', 'timezone', 'week_start_day']} onSubmit={save}>
        {(error) => (
          <>
            <TextField
              label="Name"
              value={name}
              onInput={setName}
              maxLength={200}
              error={fieldError(error, 'name')}
            />
            <SelectField
              label="Time zone"
              hint="Charts show days and weeks in this time zone."
              value={timezone}
              options={zones.map((zone) => ({ value: zone, text: zone.replaceAll('_', ' ') }))}
              onChange={setTimezone}
              error={fieldError(error, 'timezone')}
            />
            <SelectField
              label="Weeks begin on"
              value={week_start}
              options={DAYS}
              onChange={setWeekStart}
              error={fieldError(error, 'week_start_day')}
            />
          </>
        )}
      </Form>
    </section>
  )
}

function OrganizationForm(): VNode | null {
  const organization = useOrganization()
  const [name, setName] = useState(organization?.name ?? '')
  if (organization === null || !organization.is_admin) return null
  const save = async (): Promise<void> => {
    await renameOrganization(organization.id, name)
    showToast({ text: 'Organization saved' })
  }
  return (
    <section class={style.card} aria-labelledby="organization">
      <h2 id="organization">Organization</h2>
      <Form is_minor action="Rename" fields={['name']} onSubmit={save}>
        {(error) => (
          <TextField
            label="Organization name"
            value={name}
            onInput={setName}
            maxLength={64}
            error={fieldError(error, 'name')}
          />
        )}
      </Form>
    </section>
  )
}

function NewProjectForm(): VNode | null {
  const organization = useOrganization()
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  if (organization === null || !organization.is_admin) return null
  const create = async (): Promise<void> => {
    const id = await createProject(organization.id, name)
    await refreshSession()
    navigate(`~/p/${id}/start`)
  }
  return (
    <section class={style.card} aria-labelledby="new-project">
      <h2 id="new-project">New project</h2>
      <p class={style.hint}>
        Its events, persons and flags are separate from those here. The menu at the top switches
        projects.
      </p>
      <Form is_minor action="Create project" fields={['name']} onSubmit={create}>
        {(error) => (
          <TextField
            label="Name of the new project"
            value={name}
            onInput={setName}
            maxLength={200}
            error={fieldError(error, 'name')}
          />
        )}
      </Form>
    </section>
  )
}
