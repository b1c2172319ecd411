// The Worker as it is, with objects that a test can throw away in the midst of what they do, as when a platform moves them.
import { HubObject as Hub } from "../../control-plane/entry/hub-object.ts";
import { LinkObject as Link } from "../../control-plane/entry/link-object.ts";

export { default } from "../../control-plane/entry/worker.ts";

export class LinkObject extends Link {
  crash(): void {
    this.ctx.abort("thrown away by a test");
  }
}

export class HubObject extends Hub {
  crash(): void {
    this.ctx.abort("thrown away by a test");
  }
}
