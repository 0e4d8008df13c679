// Programs of an author of @kubernetes/client-node, run by test_client_node.py: `node client_node.mjs SCENARIO`.
// KUBECONFIG says where the server is, DEFINITION is the custom resource to define. A scenario that fails throws, and the process ends with 1.
import assert from "node:assert/strict";
import * as k8s from "@kubernetes/client-node";

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const namespace = "default";
const path = `/api/v1/namespaces/${namespace}/configmaps`;

const configMap = (name, data = {}) => ({ metadata: { name, labels: { app: "shop" } }, data });
const create = (name, data) => core.createNamespacedConfigMap({ namespace, body: configMap(name, data) });
const remove = (name) => core.deleteNamespacedConfigMap({ namespace, name });
const names = (list) => list.items.map((item) => item.metadata.name);

// Events of a watch from a version, until `count` came; rejects when the watch ends before.
function take(resourceVersion, count, collection = path) {
  return new Promise((resolve, reject) => {
    const seen = [];
    const ended = (error) => reject(error ?? new Error(`the watch ended after ${JSON.stringify(seen)}`));
    const watching = new k8s.Watch(config).watch(collection, { resourceVersion }, async (type, object) => {
      seen.push([type, object.metadata.name]);
      if (seen.length === count) {
        resolve({ seen, version: object.metadata.resourceVersion });
        (await watching).abort();
      }
    }, ended);
    watching.catch(reject);
  });
}

const status = (code) => (error) => error.code === code;

const scenarios = {
  async list() {
    for (let i = 0; i < 5; i++) await create(`m${i}`, { i: `${i}` });
    const found = [];
    let _continue;
    do {
      const page = await core.listNamespacedConfigMap({ namespace, limit: 2, _continue });
      found.push(...names(page));
      _continue = page.metadata._continue;
    } while (_continue);
    assert.deepEqual(found, ["m0", "m1", "m2", "m3", "m4"]);
    assert.deepEqual(names(await core.listNamespacedConfigMap({ namespace, labelSelector: "app=other" })), []);
    const one = await core.listNamespacedConfigMap({ namespace, fieldSelector: "metadata.name=m3" });
    assert.deepEqual(one.items.map((item) => item.data), [{ i: "3" }]);
  },

  async watch() {
    const start = (await core.listNamespacedConfigMap({ namespace })).metadata.resourceVersion;
    const first = take(start, 2);
    await create("a");
    await create("b");
    const { seen, version } = await first;
    assert.deepEqual(seen, [["ADDED", "a"], ["ADDED", "b"]]);
    await remove("a");
    await create("c");
    assert.deepEqual((await take(version, 2)).seen, [["DELETED", "a"], ["ADDED", "c"]]);
  },

  // The informer lists, then watches from the list's version.
  async informer() {
    await create("before");
    const list = () => core.listNamespacedConfigMap({ namespace });
    const informer = k8s.makeInformer(config, path, list);
    const waiting = [];
    const events = [];
    for (const verb of ["add", "update", "delete"]) {
      informer.on(verb, (object) => {
        events.push([verb, object.metadata.name]);
        waiting.splice(0).forEach((wake) => wake());
      });
    }
    const failed = new Promise((_, reject) => informer.on("error", reject));
    const until = async (count) => {
      while (events.length < count) await Promise.race([new Promise((wake) => waiting.push(wake)), failed]);
    };
    await informer.start();
    await until(1);
    const made = await create("after");
    await core.replaceNamespacedConfigMap({ namespace, name: "after", body: { ...made, data: { k: "v" } } });
    await remove("before");
    await until(4);
    assert.deepEqual(events, [["add", "before"], ["add", "after"], ["update", "after"], ["delete", "before"]]);
    assert.deepEqual(informer.list(namespace).map((object) => object.data), [{ k: "v" }]);
    await informer.stop();
  },

  async patch() {
    const patch = (body, type, more = {}) =>
      core.patchNamespacedConfigMap({ namespace, name: "m", body, ...more }, k8s.setHeaderOptions("Content-Type", type));
    const { MergePatch, JsonPatch, StrategicMergePatch, ServerSideApply } = k8s.PatchStrategy;
    await create("m", { a: "1", b: "2" });
    assert.deepEqual((await patch({ data: { a: null, c: "3" } }, MergePatch)).data, { b: "2", c: "3" });
    const replace = [{ op: "replace", path: "/data/b", value: "4" }];
    assert.deepEqual((await patch(replace, JsonPatch)).data, { b: "4", c: "3" });
    assert.deepEqual((await patch({ data: { c: null } }, StrategicMergePatch)).data, { b: "4" });
    const applied = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" }, data: { d: "5" } };
    const made = await patch(applied, ServerSideApply, { fieldManager: "node-test" });
    assert.deepEqual(made.data, { b: "4", d: "5" });
    const owners = made.metadata.managedFields.filter((entry) => entry.operation === "Apply");
    assert.deepEqual(owners.map((entry) => entry.manager), ["node-test"]);
    const other = { ...applied, data: { d: "6" } };
    await assert.rejects(patch(other, ServerSideApply, { fieldManager: "other" }), status(409));
    const forced = await patch(other, ServerSideApply, { fieldManager: "other", force: true });
    assert.deepEqual(forced.data, { b: "4", d: "6" });
  },

  // The definition and its objects by the client's generic API, which finds kinds by discovery.
  async custom() {
    const objects = k8s.KubernetesObjectApi.makeApiClient(config);
    await objects.create(JSON.parse(process.env.DEFINITION));
    const door = {
      apiVersion: "example.org/v1",
      kind: "Widget",
      metadata: { name: "door", namespace },
      spec: { color: "red" },
    };
    const made = await objects.create(door);
    const patch = { ...door, spec: { color: "blue" } };
    const merge = k8s.PatchStrategy.MergePatch;
    const patched = await objects.patch(patch, undefined, undefined, undefined, undefined, merge);
    assert.deepEqual(patched.spec, { color: "blue" });
    const widgets = "/apis/example.org/v1/namespaces/default/widgets";
    const changes = await take(made.metadata.resourceVersion, 1, widgets);
    assert.deepEqual(changes.seen, [["MODIFIED", "door"]]);
    await objects.delete(door);
    assert.deepEqual((await take(changes.version, 1, widgets)).seen, [["DELETED", "door"]]);
    assert.deepEqual((await objects.list("example.org/v1", "Widget", namespace)).items, []);
  },

  async delete() {
    for (const name of ["a", "b", "c"]) await create(name);
    assert.equal((await remove("a")).status, "Success");
    await assert.rejects(core.readNamespacedConfigMap({ namespace, name: "a" }), status(404));
    await core.deleteCollectionNamespacedConfigMap({ namespace });
    assert.deepEqual(names(await core.listNamespacedConfigMap({ namespace })), []);
  },
};

await scenarios[process.argv[2]]();
