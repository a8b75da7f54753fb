/** The focus after the control that had it was removed, or switched off for a while. */
import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'

const CONTROLS =
  'a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex="0"]'

/**
 * Gives the focus to the nearest control when the one that had it is removed, as a button with its row, and back to one
 * that waited for an answer, as Show more. Browsers give it to the document: Tab begins at the top of the page, and
 * letters run as shortcuts.
 */
export function useKeptFocus(main: RefObject<HTMLElement>): void {
  useEffect(() => {
    const page = main.current
    if (page === null) return undefined
    let focused: HTMLElement | null = null
    /** Another address gives the focus itself. */
    let path = ''
    const onFocusIn = ({ target }: FocusEvent): void => {
      focused = target instanceof HTMLElement ? target : null
      path = location.pathname
    }
    // A click beside all controls leaves them on purpose.
    const onPointerDown = ({ target }: PointerEvent): void => {
      if (target instanceof Node && focused?.contains(target) !== true) focused = null
    }
    const observer = new MutationObserver((records) => {
      const control = focused
      if (control === null || document.activeElement !== document.body) return
      if (control.isConnected) {
        const is_back = records.some(({ target }) => target === control)
        if (is_back) control.focus({ preventScroll: true })
        return
      }
      focused = null
      const place = records.find(({ removedNodes }) =>
        [...removedNodes].some((node) => node.contains(control)),
      )
      if (place === undefined || path !== location.pathname) return
      ;(findNear(place, page) ?? page).focus({ preventScroll: true })
    })
    page.addEventListener('focusin', onFocusIn)
    addEventListener('pointerdown', onPointerDown)
    observer.observe(page, { childList: true, subtree: true, attributeFilter: ['disabled'] })
    return () => {
      page.removeEventListener('focusin', onFocusIn)
      removeEventListener('pointerdown', onPointerDown)
      observer.disconnect()
    }
  }, [main])
}

/** The first control beside the place, else in what is around it, up to its section; none for a whole page that is replaced. */
function findNear(place: MutationRecord, page: HTMLElement): HTMLElement | null {
  if (place.target === page) return null
  const near = [place.nextSibling, place.previousSibling]
  for (let around: Node | null = place.target; around !== page && around !== null; ) {
    near.push(around)
    around = around.nodeName === 'SECTION' ? null : around.parentNode
  }
  for (const node of near) {
    const control = node instanceof Element && node.isConnected ? findControl(node) : null
    if (control !== null) return control
  }
  return null
}

function findControl(element: Element): HTMLElement | null {
  const all = [element, ...element.querySelectorAll(CONTROLS)]
  const is_control = (one: Element): one is HTMLElement =>
    one instanceof HTMLElement && one.matches(CONTROLS) && one.checkVisibility()
  return all.find(is_control) ?? null
}
