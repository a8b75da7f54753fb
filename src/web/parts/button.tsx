/** Buttons, and links that look like buttons. */
import type { ComponentChildren, JSX, VNode } from 'preact'
import { Link } from 'wouter-preact'
import style from './button.module.css'
import { Icon, type IconName } from './icon.tsx'

export type ButtonLook = 'main' | 'plain' | 'quiet' | 'danger'

type ButtonProps = Omit<JSX.ButtonHTMLAttributes, 'class' | 'icon'> & {
  /** `main` for the one main action of a page, `quiet` without a frame. */
  readonly look?: ButtonLook
  readonly icon?: IconName
  readonly children?: ComponentChildren
}

/** A button. It submits nothing unless `type` says so. */
export function Button({ look = 'plain', icon, children, ...rest }: ButtonProps): VNode {
  return (
    <button type="button" class={`${style.button} ${style[look]}`} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

type IconButtonProps = Omit<ButtonProps, 'children' | 'icon'> & {
  readonly icon: IconName
  /** The label of the button for screen readers and as a tooltip. */
  readonly label: string
}

/** A square button with an icon only. */
export function IconButton({ icon, label, look = 'quiet', ...rest }: IconButtonProps): VNode {
  return (
    <button
      type="button"
      class={`${style.button} ${style.square} ${style[look]}`}
      aria-label={label}
      title={label}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  )
}

type ButtonLinkProps = {
  /** Within the project; `~/login` for an address outside. */
  readonly href: string
  readonly look?: ButtonLook
  readonly icon?: IconName
  readonly children: ComponentChildren
}

/** A link to another page that looks like a button. */
export function ButtonLink({ href, look = 'plain', icon, children }: ButtonLinkProps): VNode {
  return (
    <Link href={href} class={`${style.button} ${style[look]}`}>
      {icon && <Icon name={icon} />}
      {children}
    </Link>
  )
}
