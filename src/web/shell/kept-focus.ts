/** The focus after the control that had it was removed, or switched off for a while. */
import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'

const CONTROLS =
  ':is(a[href], button, input, select, textarea, summary, [tabindex="0"]):not(:disabled)'

/**
 * Gives the focus to the nearest control when the one that had it is removed, as a button with its row, and back to one
 * that waited for an answer, as Show more. Browsers give it to the document: Tab begins at the top of the page, and
 * letters run as shortcuts.
 */
export function useKeptFocus(main: RefObject<HTMLElement>): void {
  useEffect(() => {
    const page = main.current
    if (page === null) return
    let focused: HTMLElement | null = null
    /** Another address gives the focus itself. */
    let path = ''
    page.addEventListener('focusin', ({ target }) => {
      focused = target instanceof HTMLElement ? target : null
      path = location.pathname
    })
    // A click beside all controls leaves them on purpose.
    page.addEventListener('pointerdown', ({ target }) => {
      if (target instanceof Node && focused?.contains(target) !== true) focused = null
    })
    const observer = new MutationObserver((records) => {
      const control = focused
      if (control === null || document.activeElement !== document.body) return
      if (control.isConnected) {
        if (records.some(({ target }) => target === control)) control.focus({ preventScroll: true })
        return
      }
      focused = null
      const place = records.find(({ removedNodes }) =>
        [...removedNodes].some((node) => node.contains(control)),
      )
      if (place === undefined || path !== location.pathname) return
      findNear(place, page).focus({ preventScroll: true })
    })
    observer.observe(page, { childList: true, subtree: true, attributeFilter: ['disabled'] })
  }, [main])
}

/** The first control beside the place or around it; the page itself where all of it is replaced. */
function findNear(place: MutationRecord, page: HTMLElement): HTMLElement {
  const { nextSibling, previousSibling, target } = place
  for (const node of [nextSibling, previousSibling, target, target.parentNode]) {
    if (target === page || node === page || !(node instanceof Element)) continue
    const control = [node, ...node.querySelectorAll(CONTROLS)].find(isControl)
    if (control !== undefined) return control
  }
  return page
}

const isControl = (one: Element): one is HTMLElement =>
  one instanceof HTMLElement && one.matches(CONTROLS) && one.checkVisibility()
