/** Tags of a thing: one chip each, and a field that adds one. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { IconButton } from '../button.tsx'
import style from './edited-page.module.css'
import { TextField } from './field.tsx'

type TagsFieldProps = {
  readonly tags: readonly string[]
  readonly onChange: (tags: readonly string[]) => void
}

/** Draws the chips; Enter adds what was typed, and so does leaving the field. */
export function TagsField({ tags, onChange }: TagsFieldProps): VNode {
  const [text, setText] = useState('')
  const add = (): void => {
    const tag = text.trim()
    setText('')
    if (tag !== '' && !tags.includes(tag)) onChange([...tags, tag])
  }
  return (
    <div class={style.column}>
      <TextField
        label="Tags"
        placeholder="Add a tag"
        value={text}
        maxLength={255}
        onInput={setText}
        onBlur={add}
        onKeyDown={(event) => {
          if (event.key === 'Enter') add()
        }}
      />
      {tags.length > 0 && (
        <ul class={style.who} aria-label="Tags">
          {tags.map((tag, at) => (
            // oxlint-disable-next-line react/no-array-index-key -- the API stores the same tag twice
            <li key={at} class={style.fixed}>
              {tag}
              <IconButton
                icon="close"
                label={`Remove the tag ${tag}`}
                onClick={() => onChange(tags.toSpliced(at, 1))}
              />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
