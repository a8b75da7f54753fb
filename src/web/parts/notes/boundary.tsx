/** Keeps a fault within its part of the page: the rest goes on working. */
import { Component, type ComponentChildren } from 'preact'
import { PageHead } from '../page-head.tsx'
import { ErrorNote } from './error-note.tsx'

type BoundaryProps = {
  /** Another value starts over: the address, for a page. */
  readonly subject: string
  readonly children: ComponentChildren
}

type BoundaryState = { readonly failed_at: string | null }

/** Draws its content, or a note when drawing it throws. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { failed_at: null }

  override componentDidCatch(): void {
    this.setState({ failed_at: this.props.subject })
  }

  override render({ subject, children }: BoundaryProps, { failed_at }: BoundaryState) {
    if (failed_at !== subject) return children
    const retry = (): void => this.setState({ failed_at: null })
    return (
      <>
        <PageHead title="Something went wrong" />
        <ErrorNote message="This page could not show its content." onRetry={retry} />
      </>
    )
  }
}
