"""Generated from rpc.proto by controlplane.storage.kv.etcd.generate; not edited by hand."""

from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

_POOL = DescriptorPool()
_POOL.AddSerializedFile(
    b'\n\trpc.proto\x12\x1ccontrolplane.storage.kv'
    b'.etcd"h\n\x0eResponseHeader\x12\x1d\n\ncluster_i'
    b'd\x18\x01 \x01(\x04R\tclusterId\x12\x1b\n\tmember_id\x18\x02 \x01('
    b'\x04R\x08memberId\x12\x1a\n\x08revision\x18\x03 \x01(\x03R\x08revis'
    b'ion"\xae\x01\n\x08KeyValue\x12\x10\n\x03key\x18\x01 \x01(\x0cR\x03key\x12\''
    b'\n\x0fcreate_revision\x18\x02 \x01(\x03R\x0ecreateRevis'
    b'ion\x12!\n\x0cmod_revision\x18\x03 \x01(\x03R\x0bmodRevisi'
    b'on\x12\x18\n\x07version\x18\x04 \x01(\x03R\x07version\x12\x14\n\x05valu'
    b'e\x18\x05 \x01(\x0cR\x05value\x12\x14\n\x05lease\x18\x06 \x01(\x03R\x05lease'
    b'"\xe5\x01\n\x05Event\x12A\n\x04type\x18\x01 \x01(\x0e2-.controlpl'
    b'ane.storage.kv.etcd.Event.EventTypeR'
    b'\x04type\x126\n\x02kv\x18\x02 \x01(\x0b2&.controlplane.sto'
    b'rage.kv.etcd.KeyValueR\x02kv\x12?\n\x07prev_kv'
    b'\x18\x03 \x01(\x0b2&.controlplane.storage.kv.etc'
    b'd.KeyValueR\x06prevKv" \n\tEventType\x12\x07\n\x03P'
    b'UT\x10\x00\x12\n\n\x06DELETE\x10\x01"\x8e\x01\n\x0cRangeRequest\x12\x10\n'
    b'\x03key\x18\x01 \x01(\x0cR\x03key\x12\x1b\n\trange_end\x18\x02 \x01(\x0cR\x08'
    b'rangeEnd\x12\x14\n\x05limit\x18\x03 \x01(\x03R\x05limit\x12\x1a\n\x08re'
    b'vision\x18\x04 \x01(\x03R\x08revision\x12\x1d\n\ncount_only'
    b'\x18\t \x01(\x08R\tcountOnly"\xb9\x01\n\rRangeResponse\x12'
    b'D\n\x06header\x18\x01 \x01(\x0b2,.controlplane.stora'
    b'ge.kv.etcd.ResponseHeaderR\x06header\x128\n'
    b'\x03kvs\x18\x02 \x03(\x0b2&.controlplane.storage.kv'
    b'.etcd.KeyValueR\x03kvs\x12\x12\n\x04more\x18\x03 \x01(\x08R\x04m'
    b'ore\x12\x14\n\x05count\x18\x04 \x01(\x03R\x05count"J\n\nPutRequ'
    b'est\x12\x10\n\x03key\x18\x01 \x01(\x0cR\x03key\x12\x14\n\x05value\x18\x02 \x01(\x0c'
    b'R\x05value\x12\x14\n\x05lease\x18\x03 \x01(\x03R\x05lease"?\n\x12Del'
    b'eteRangeRequest\x12\x10\n\x03key\x18\x01 \x01(\x0cR\x03key\x12\x17\n'
    b'\x07prev_kv\x18\x03 \x01(\x08R\x06prevKv"X\n\x13DeleteRang'
    b'eResponse\x12A\n\x08prev_kvs\x18\x03 \x03(\x0b2&.contro'
    b'lplane.storage.kv.etcd.KeyValueR\x07pre'
    b'vKvs"\x9c\x02\n\tRequestOp\x12Q\n\rrequest_range\x18'
    b'\x01 \x01(\x0b2*.controlplane.storage.kv.etcd'
    b'.RangeRequestH\x00R\x0crequestRange\x12K\n\x0breq'
    b'uest_put\x18\x02 \x01(\x0b2(.controlplane.storag'
    b'e.kv.etcd.PutRequestH\x00R\nrequestPut\x12d'
    b'\n\x14request_delete_range\x18\x03 \x01(\x0b20.contr'
    b'olplane.storage.kv.etcd.DeleteRangeR'
    b'equestH\x00R\x12requestDeleteRangeB\t\n\x07requ'
    b'est"\xd7\x01\n\nResponseOp\x12T\n\x0eresponse_range'
    b'\x18\x01 \x01(\x0b2+.controlplane.storage.kv.etc'
    b'd.RangeResponseH\x00R\rresponseRange\x12g\n\x15'
    b'response_delete_range\x18\x03 \x01(\x0b21.contro'
    b'lplane.storage.kv.etcd.DeleteRangeRe'
    b'sponseH\x00R\x13responseDeleteRangeB\n\n\x08res'
    b'ponse"\xc9\x02\n\x07Compare\x12K\n\x06result\x18\x01 \x01(\x0e23.'
    b'controlplane.storage.kv.etcd.Compare'
    b'.CompareResultR\x06result\x12K\n\x06target\x18\x02 \x01'
    b'(\x0e23.controlplane.storage.kv.etcd.Co'
    b'mpare.CompareTargetR\x06target\x12\x10\n\x03key\x18\x03'
    b' \x01(\x0cR\x03key\x12\x1a\n\x07version\x18\x04 \x01(\x03H\x00R\x07versio'
    b'n\x12#\n\x0cmod_revision\x18\x06 \x01(\x03H\x00R\x0bmodRevisi'
    b'on"\x1a\n\rCompareResult\x12\t\n\x05EQUAL\x10\x00"%\n\rCo'
    b'mpareTarget\x12\x0b\n\x07VERSION\x10\x00\x12\x07\n\x03MOD\x10\x02B\x0e\n'
    b'\x0ctarget_union"\xd3\x01\n\nTxnRequest\x12?\n\x07comp'
    b'are\x18\x01 \x03(\x0b2%.controlplane.storage.kv.'
    b'etcd.CompareR\x07compare\x12A\n\x07success\x18\x02 \x03'
    b"(\x0b2'.controlplane.storage.kv.etcd.Re"
    b"questOpR\x07success\x12A\n\x07failure\x18\x03 \x03(\x0b2'."
    b'controlplane.storage.kv.etcd.Request'
    b'OpR\x07failure"\xb9\x01\n\x0bTxnResponse\x12D\n\x06heade'
    b'r\x18\x01 \x01(\x0b2,.controlplane.storage.kv.et'
    b'cd.ResponseHeaderR\x06header\x12\x1c\n\tsucceed'
    b'ed\x18\x02 \x01(\x08R\tsucceeded\x12F\n\tresponses\x18\x03 \x03'
    b'(\x0b2(.controlplane.storage.kv.etcd.Re'
    b'sponseOpR\tresponses"/\n\x11CompactionReq'
    b'uest\x12\x1a\n\x08revision\x18\x01 \x01(\x03R\x08revision"Z\n\x12'
    b'CompactionResponse\x12D\n\x06header\x18\x01 \x01(\x0b2,'
    b'.controlplane.storage.kv.etcd.Respon'
    b'seHeaderR\x06header"\xac\x01\n\x12WatchCreateRequ'
    b'est\x12\x10\n\x03key\x18\x01 \x01(\x0cR\x03key\x12\x1b\n\trange_end\x18\x02'
    b' \x01(\x0cR\x08rangeEnd\x12%\n\x0estart_revision\x18\x03 \x01'
    b"(\x03R\rstartRevision\x12'\n\x0fprogress_notify"
    b'\x18\x04 \x01(\x08R\x0eprogressNotify\x12\x17\n\x07prev_kv\x18\x06 '
    b'\x01(\x08R\x06prevKv"\x16\n\x14WatchProgressRequest"'
    b'\xdb\x01\n\x0cWatchRequest\x12Y\n\x0ecreate_request\x18\x01'
    b' \x01(\x0b20.controlplane.storage.kv.etcd.'
    b'WatchCreateRequestH\x00R\rcreateRequest\x12'
    b'_\n\x10progress_request\x18\x03 \x01(\x0b22.controlp'
    b'lane.storage.kv.etcd.WatchProgressRe'
    b'questH\x00R\x0fprogressRequestB\x0f\n\rrequest_'
    b'union"\xb3\x02\n\rWatchResponse\x12D\n\x06header\x18\x01 '
    b'\x01(\x0b2,.controlplane.storage.kv.etcd.R'
    b'esponseHeaderR\x06header\x12\x19\n\x08watch_id\x18\x02 '
    b'\x01(\x03R\x07watchId\x12\x18\n\x07created\x18\x03 \x01(\x08R\x07creat'
    b'ed\x12\x1a\n\x08canceled\x18\x04 \x01(\x08R\x08canceled\x12)\n\x10co'
    b'mpact_revision\x18\x05 \x01(\x03R\x0fcompactRevisio'
    b'n\x12#\n\rcancel_reason\x18\x06 \x01(\tR\x0ccancelReas'
    b'on\x12;\n\x06events\x18\x0b \x03(\x0b2#.controlplane.st'
    b'orage.kv.etcd.EventR\x06events"%\n\x11Lease'
    b'GrantRequest\x12\x10\n\x03TTL\x18\x01 \x01(\x03R\x03TTL"\x92\x01\n\x12L'
    b'easeGrantResponse\x12D\n\x06header\x18\x01 \x01(\x0b2,.'
    b'controlplane.storage.kv.etcd.Respons'
    b'eHeaderR\x06header\x12\x0e\n\x02ID\x18\x02 \x01(\x03R\x02ID\x12\x10\n\x03T'
    b'TL\x18\x03 \x01(\x03R\x03TTL\x12\x14\n\x05error\x18\x04 \x01(\tR\x05error"'
    b'\x0f\n\rStatusRequest"\xb8\x01\n\x0eStatusResponse\x12'
    b'D\n\x06header\x18\x01 \x01(\x0b2,.controlplane.stora'
    b'ge.kv.etcd.ResponseHeaderR\x06header\x12\x18\n'
    b'\x07version\x18\x02 \x01(\tR\x07version\x12\x16\n\x06dbSize\x18\x03 '
    b'\x01(\x03R\x06dbSize\x12\x16\n\x06leader\x18\x04 \x01(\x04R\x06leader\x12'
    b'\x16\n\x06errors\x18\x08 \x03(\tR\x06errorsb\x06proto3'
)
_find = _POOL.FindMessageTypeByName

ResponseHeader = GetMessageClass(_find("controlplane.storage.kv.etcd.ResponseHeader"))
KeyValue = GetMessageClass(_find("controlplane.storage.kv.etcd.KeyValue"))
Event = GetMessageClass(_find("controlplane.storage.kv.etcd.Event"))
RangeRequest = GetMessageClass(_find("controlplane.storage.kv.etcd.RangeRequest"))
RangeResponse = GetMessageClass(_find("controlplane.storage.kv.etcd.RangeResponse"))
PutRequest = GetMessageClass(_find("controlplane.storage.kv.etcd.PutRequest"))
DeleteRangeRequest = GetMessageClass(_find("controlplane.storage.kv.etcd.DeleteRangeRequest"))
DeleteRangeResponse = GetMessageClass(_find("controlplane.storage.kv.etcd.DeleteRangeResponse"))
RequestOp = GetMessageClass(_find("controlplane.storage.kv.etcd.RequestOp"))
ResponseOp = GetMessageClass(_find("controlplane.storage.kv.etcd.ResponseOp"))
Compare = GetMessageClass(_find("controlplane.storage.kv.etcd.Compare"))
TxnRequest = GetMessageClass(_find("controlplane.storage.kv.etcd.TxnRequest"))
TxnResponse = GetMessageClass(_find("controlplane.storage.kv.etcd.TxnResponse"))
CompactionRequest = GetMessageClass(_find("controlplane.storage.kv.etcd.CompactionRequest"))
CompactionResponse = GetMessageClass(_find("controlplane.storage.kv.etcd.CompactionResponse"))
WatchCreateRequest = GetMessageClass(_find("controlplane.storage.kv.etcd.WatchCreateRequest"))
WatchProgressRequest = GetMessageClass(_find("controlplane.storage.kv.etcd.WatchProgressRequest"))
WatchRequest = GetMessageClass(_find("controlplane.storage.kv.etcd.WatchRequest"))
WatchResponse = GetMessageClass(_find("controlplane.storage.kv.etcd.WatchResponse"))
LeaseGrantRequest = GetMessageClass(_find("controlplane.storage.kv.etcd.LeaseGrantRequest"))
LeaseGrantResponse = GetMessageClass(_find("controlplane.storage.kv.etcd.LeaseGrantResponse"))
StatusRequest = GetMessageClass(_find("controlplane.storage.kv.etcd.StatusRequest"))
StatusResponse = GetMessageClass(_find("controlplane.storage.kv.etcd.StatusResponse"))
