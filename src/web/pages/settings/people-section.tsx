/** The members of the organization, and invites of new ones. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import {
  changeMemberLevel,
  deleteInvite,
  leaveOrganization,
  makeInvite,
  type OpenInvite,
  type OrganizationMember,
  removeMember,
  useInvites,
  useMembers,
} from '../../api/settings.ts'
import { Button } from '../../parts/button.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { formatAgo } from '../../parts/format.ts'
import { errorText } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { ShownOnce } from '../../parts/notes/shown-once.tsx'
import { ConfirmDialog } from '../../parts/overlays/dialog.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { type CurrentOrganization, useOrganization } from './organization.ts'
import style from './settings.module.css'

const LEVELS = [
  { value: '1', text: 'Member' },
  { value: '8', text: 'Administrator' },
  { value: '15', text: 'Owner' },
] as const

const levelName = (level: number): string =>
  LEVELS.find(({ value }) => value === String(level))?.text ?? String(level)

/** Draws the section. */
export function PeopleSection(): VNode | null {
  const organization = useOrganization()
  if (organization === null) return null
  return (
    <div class={style.cards}>
      <MemberCard organization={organization} />
      {organization.is_admin && <InviteCard organization={organization} />}
    </div>
  )
}

type OrganizationProps = { readonly organization: CurrentOrganization }

function MemberCard({ organization }: OrganizationProps): VNode {
  const members = useMembers(organization.id)
  const [leaving, setLeaving] = useState<OrganizationMember | null>(null)
  const [, navigate] = useLocation()
  const is_self = leaving?.id === organization.user
  const remove = async (member: OrganizationMember): Promise<void> => {
    if (!is_self) return removeMember(organization.id, member.id)
    await leaveOrganization(organization.id, member.id)
    navigate('~/')
    showToast({ text: `You left ${organization.name}` })
  }
  return (
    <section class={style.card} aria-labelledby="members">
      <h2 id="members">Members of {organization.name}</h2>
      <Loaded of={members}>
        {(all) => (
          <ul class={style.list}>
            {all.map((member) => (
              <MemberRow
                key={member.id}
                member={member}
                organization={organization}
                onRemove={() => setLeaving(member)}
              />
            ))}
          </ul>
        )}
      </Loaded>
      {leaving !== null && (
        <ConfirmDialog
          title={is_self ? `Leave ${organization.name}?` : `Remove ${leaving.user.first_name}?`}
          action={is_self ? 'Leave' : 'Remove'}
          onConfirm={() => remove(leaving)}
          onClose={() => setLeaving(null)}
        >
          {is_self ? (
            <p>You lose access to it. What you created stays.</p>
          ) : (
            <p>They lose access to {organization.name}. What they created stays.</p>
          )}
        </ConfirmDialog>
      )}
    </section>
  )
}

type MemberRowProps = OrganizationProps & {
  readonly member: OrganizationMember
  readonly onRemove: () => void
}

function MemberRow({ member, organization, onRemove }: MemberRowProps): VNode {
  const { user, level, joined_at } = member
  const may_change = organization.is_admin && level <= organization.level
  const is_self = member.id === organization.user
  const change = async (field: HTMLSelectElement): Promise<void> => {
    try {
      await changeMemberLevel(organization.id, member.id, Number(field.value))
    } catch (error) {
      // The level is still the old one.
      field.value = String(level)
      showToast({ text: errorText(error) })
    }
  }
  return (
    <li>
      <div class={style.who}>
        <strong>{user.first_name}</strong>
        <span>
          {user.email ?? 'no address'}, joined {formatAgo(joined_at)}
        </span>
      </div>
      {may_change && !is_self ? (
        <select
          class="field"
          aria-label={`Level of ${user.first_name}`}
          value={String(level)}
          onChange={(event) => void change(event.currentTarget)}
        >
          {LEVELS.filter(({ value }) => Number(value) <= organization.level).map((one) => (
            <option key={one.value} value={one.value}>
              {one.text}
            </option>
          ))}
        </select>
      ) : (
        <span>{levelName(level)}</span>
      )}
      {(may_change || is_self) && (
        <Button
          look="quiet"
          onClick={onRemove}
          aria-label={is_self ? `Leave ${organization.name}` : `Remove ${user.first_name}`}
        >
          {is_self ? 'Leave' : 'Remove'}
        </Button>
      )}
    </li>
  )
}

function InviteCard({ organization }: OrganizationProps): VNode {
  const invites = useInvites(organization.id)
  const [email, setEmail] = useState('')
  const [level, setLevel] = useState('1')
  const [link, setLink] = useState<string | null>(null)
  const invite = async (): Promise<void> => {
    setLink(await makeInvite(organization.id, { email, level: Number(level) }))
    setEmail('')
  }
  return (
    <section class={style.card} aria-labelledby="invites">
      <h2 id="invites">Invite</h2>
      <p class={style.hint}>Tidemark sends no mail: you get a link, and pass it on.</p>
      <Form action="Create invite link" fields={['target_email']} onSubmit={invite}>
        {(error) => (
          <>
            <TextField
              label="Email (optional)"
              type="email"
              autocomplete="off"
              value={email}
              onInput={setEmail}
              hint="With it, the link is for this address only."
              error={fieldError(error, 'target_email')}
            />
            <SelectField
              label="Level"
              value={level}
              options={LEVELS.filter(({ value }) => Number(value) <= organization.level)}
              onChange={setLevel}
            />
          </>
        )}
      </Form>
      <Loaded of={invites} isEmpty={(all) => all.length === 0} empty={<NoInvites />}>
        {(all) => (
          <ul class={style.list}>
            {all.map((one) => (
              <InviteRow key={one.id} invite={one} organization={organization} />
            ))}
          </ul>
        )}
      </Loaded>
      {link !== null && (
        <ShownOnce
          title="Invite link"
          text={link}
          hint="It works once, for three days, and is shown only now."
          onClose={() => setLink(null)}
        />
      )}
    </section>
  )
}

const NoInvites = (): VNode => <p class={style.none}>No open invites.</p>

function InviteRow({
  invite,
  organization,
}: OrganizationProps & { readonly invite: OpenInvite }): VNode {
  const who = invite.target_email ?? 'Anyone with the link'
  const remove = async (): Promise<void> => {
    try {
      await deleteInvite(organization.id, invite.id)
    } catch (error) {
      showToast({ text: errorText(error) })
    }
  }
  return (
    <li>
      <div class={style.who}>
        <strong>{who}</strong>
        <span>
          {levelName(invite.level)}, ends {formatAgo(invite.expires_at)}
        </span>
      </div>
      <Button look="quiet" onClick={() => void remove()} aria-label={`Revoke: ${who}`}>
        Revoke
      </Button>
    </li>
  )
}
